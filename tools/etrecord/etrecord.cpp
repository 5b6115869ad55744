// The entries of an ETRecord. Programs are in the format of ExecuTorch's serializer (write/exir_program.h), their
// tensors and the values of the caller as torch.save writes them (write/write_torch.h).
//
//   method forward of the edge program
//     ->  edge_dialect_exported_program/forward:              {"graph_module": ...}
//         edge_dialect_exported_program/forward_state_dict:   {"fc.weight": ...}
#include "tools/etrecord/etrecord.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "depute/backend/backend_op.h"
#include "ir/program_names.h"
#include "support/guarded.h"
#include "support/try.h"
#include "write/exir_program.h"
#include "write/pt2_program.h"
#include "write/write_torch.h"
#include "write/zip_writer.h"

namespace depute {
namespace {

using Json = nlohmann::ordered_json;

Status add_value(ZipWriter& zip, const std::string& name, const TorchValue& value) {
  TRY(const std::vector<std::byte> bytes, torch_save(value));
  return zip.add(name, bytes);
}

Status add_program(ZipWriter& zip, const std::string& name, const Program& program, const Method& method,
                   const ExirOptions& options) {
  TRY(const Json json, exir_program(program, method, options));
  TorchValue::Dict state;
  TorchValue::Dict constants;
  for (const InputSpec& spec : method.inputs) {
    if (!spec.has_data()) continue;
    const TensorData& data = *program.find_data(spec.target);
    const std::string key(spec.target.str());
    if (spec.kind == InputSpec::Kind::Parameter) {
      state.emplace_back(key, TorchValue{TorchValue::Parameter{data}});
    } else {
      const bool is_state = spec.kind == InputSpec::Kind::Buffer && spec.persistent;
      (is_state ? state : constants).emplace_back(key, TorchValue{data});
    }
  }
  TRY_STATUS(zip.add(name, pt2_text(json)));
  TRY_STATUS(add_value(zip, name + "_state_dict", {std::move(state)}));
  TRY_STATUS(add_value(zip, name + "_constants", {std::move(constants)}));
  return zip.add(name + "_example_inputs", "");
}

// Returns the method that a record has of the exported program: it has one at most.
const Method* recorded_method(const Program& program) {
  for (const auto& method : program.methods) {
    if (method->name.str() == "forward") return method.get();
  }
  return program.methods.size() == 1 ? program.methods[0].get() : nullptr;
}

Json identifier_text(const DelegateDebugId& identifier) {
  const auto* text = std::get_if<std::string>(&identifier);
  return text != nullptr ? *text : std::to_string(std::get<std::int64_t>(identifier));
}

Status add_maps(ZipWriter& zip, const Executable& executable) {
  Json handles = Json::object();
  Json delegates = Json::object();
  Json outputs = Json::object();
  for (const auto& [method, maps] : instruction_maps(executable)) {
    handles[method] = delegates[method] = outputs[method] = Json::object();
    for (const auto& [number, of_instruction] : maps.debug_handles) {
      const bool is_one = of_instruction.size() == 1 && !maps.delegates.contains(number);
      handles[method][std::to_string(number)] = is_one ? Json(of_instruction[0]) : Json(of_instruction);
    }
    for (const auto& [number, call] : maps.delegates) {
      Json pieces = Json::object();
      for (const auto& [identifier, covered] : call.pieces)
        pieces[identifier_text(identifier).get<std::string>()] = covered;
      delegates[method][std::to_string(number)] = {{"name", call.backend_id},
                                                   {"delegate_map", std::move(pieces)}};
      outputs[method][std::to_string(number)] = call.outputs;
    }
  }
  TRY_STATUS(zip.add("debug_handle_map", pt2_text(handles)));
  TRY_STATUS(zip.add("delegate_map", pt2_text(delegates)));
  return zip.add("instruction_id_to_num_outs_map", pt2_text(outputs));
}

}  // namespace

Status write_etrecord(const EtRecord& record, const Executable& executable, Output& output) {
  const NameScope::Use use(names_of(*record.edge));
  ZipWriter zip(output);
  TRY_STATUS(zip.add("ETRECORD_V0", ""));
  ExirOptions edge{.is_edge = true};
  const Method* exported = record.exported == nullptr ? nullptr : recorded_method(*record.exported);
  if (exported != nullptr) {
    TRY_STATUS(add_program(zip, "exported_program", *record.exported, *exported, {}));
    edge.origins = node_names(*exported);
  }
  // Ops of backends are unknown to torch.
  Program program = clone(*record.edge);
  TRY_STATUS(expand_backend_ops(program, BackendOpsToExpand::All));
  for (const auto& method : program.methods) {
    const std::string name = fmt::format("edge_dialect_exported_program/{}", method->name.str());
    TRY_STATUS(add_program(zip, name, program, *method, edge));
  }
  TRY_STATUS(add_maps(zip, executable));
  if (record.outputs != nullptr) TRY_STATUS(add_value(zip, "reference_outputs", *record.outputs));
  if (record.inputs != nullptr) TRY_STATUS(add_value(zip, "representative_inputs", *record.inputs));
  if (exported != nullptr) TRY_STATUS(zip.add("export_graph_id", std::to_string(exported_graph_id)));
  return zip.finish();
}

Result<std::vector<std::byte>> etrecord_bytes(const EtRecord& record, const Executable& executable) {
  return guarded([&]() -> Result<std::vector<std::byte>> {
    std::vector<std::byte> bytes;
    OutputBytes output(bytes);
    TRY_STATUS(write_etrecord(record, executable, output));
    TRY_STATUS(output.commit());
    return bytes;
  });
}

}  // namespace depute
