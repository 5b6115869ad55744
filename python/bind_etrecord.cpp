// ETRecords, and the maps from instructions to nodes that ExecuTorch's program manager has.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "bind_data.h"
#include "depute/program/torch_value.h"
#include "depute/tools/etrecord.h"

namespace depute::python {
namespace {

TorchValue value_of(nb::handle given) {
  if (given.is_none()) return {};
  if (nb::isinstance<Constant>(given)) return {nb::cast<const Constant&>(given).data};
  if (nb::isinstance<nb::bool_>(given)) return {nb::cast<bool>(given)};
  if (nb::isinstance<nb::int_>(given)) return {nb::cast<std::int64_t>(given)};
  if (nb::isinstance<nb::float_>(given)) return {nb::cast<double>(given)};
  if (nb::isinstance<nb::str>(given)) return {nb::cast<std::string>(given)};
  if (nb::isinstance<nb::dict>(given)) {
    TorchValue::Dict dict;
    for (const auto& [key, each] : nb::cast<nb::dict>(given))
      dict.emplace_back(nb::cast<std::string>(key), value_of(each));
    return {std::move(dict)};
  }
  TorchValue::List list;
  for (nb::handle each : nb::cast<nb::list>(given)) list.push_back(value_of(each));
  return {std::move(list)};
}

std::shared_ptr<const TorchValue> shared_value(nb::handle given) {
  return given.is_none() ? nullptr : std::make_shared<const TorchValue>(value_of(given));
}

// `exported` is None if it is unknown. Tensors of `inputs` and `outputs` are Constants.
nb::bytes etrecord(const Executable& executable, const ProgramHandle* exported, const ProgramHandle& edge,
                   nb::handle inputs, nb::handle outputs) {
  const EtRecord record{.exported = exported == nullptr ? nullptr : exported->program,
                        .edge = edge.program,
                        .inputs = shared_value(inputs),
                        .outputs = shared_value(outputs)};
  Result<std::vector<std::byte>> bytes = [&] {
    nb::gil_scoped_release release;
    return etrecord_bytes(record, executable);
  }();
  return bytes_of(take(std::move(bytes)));
}

nb::object handles_of(const std::vector<std::uint32_t>& handles, bool is_list) {
  return is_list || handles.size() != 1 ? nb::cast(handles) : nb::cast(handles[0]);
}

nb::dict delegate_row(const DelegateInstruction& call) {
  nb::dict pieces;
  for (const auto& [identifier, handles] : call.pieces) {
    const auto* text = std::get_if<std::string>(&identifier);
    const nb::object key = text != nullptr ? nb::cast(*text) : nb::cast(std::get<std::int64_t>(identifier));
    pieces[key] = nb::tuple(nb::cast(handles));
  }
  nb::dict row;
  row["name"] = call.backend_id;
  row["delegate_map"] = pieces;
  return row;
}

// Returns debug_handle_map, delegate_map and instruction_id_to_num_outs_map.
nb::tuple maps_of(const Executable& executable) {
  nb::dict handles;
  nb::dict delegates;
  nb::dict outputs;
  for (const auto& [method, maps] : instruction_maps(executable)) {
    nb::dict own_handles;
    nb::dict own_delegates;
    nb::dict own_outputs;
    for (const auto& [number, of_instruction] : maps.debug_handles)
      own_handles[nb::cast(number)] = handles_of(of_instruction, maps.delegates.contains(number));
    for (const auto& [number, call] : maps.delegates) {
      own_delegates[nb::cast(number)] = delegate_row(call);
      own_outputs[nb::cast(number)] = call.outputs;
    }
    handles[method.c_str()] = own_handles;
    delegates[method.c_str()] = own_delegates;
    outputs[method.c_str()] = own_outputs;
  }
  return nb::make_tuple(handles, delegates, outputs);
}

}  // namespace

void bind_etrecord(nb::module_& module) {
  module.def("etrecord", &etrecord, nb::arg(), nb::arg("exported").none(), nb::arg(),
             nb::arg("inputs").none(), nb::arg("outputs").none());
  module.def("instruction_maps", &maps_of);
}

}  // namespace depute::python
