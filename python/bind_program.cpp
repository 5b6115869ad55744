// Programs: reading, printing and inspecting them. depute/program.py defines Program and Method on top.
#include "depute/program/program.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <set>

#include "bind_data.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/data.h"
#include "depute/program/inspect.h"
#include "depute/program/text.h"

namespace depute::python {

const Method& method_of(const ProgramHandle& handle, const std::string& name) {
  const Method* method = handle.program->find_method(name);
  if (method == nullptr) {
    throw nb::key_error(("there is no method '" + name + "'").c_str());
  }
  return *method;
}

namespace {

ProgramHandle load_file(const std::string& path) {
  Result<Exported> exported = [&] {
    nb::gil_scoped_release release;
    return Compiler().load(path);
  }();
  return hold(take(std::move(exported)));
}

// The program's constants point into the bytes, so it keeps them alive.
ProgramHandle load_bytes(nb::bytes bytes, const std::string& name) {
  std::span<const std::byte> view(static_cast<const std::byte*>(bytes.data()), bytes.size());
  SharedObject owner = share(bytes);
  Result<Exported> exported = [&] {
    nb::gil_scoped_release release;
    return Compiler().load(view, std::move(owner), name);
  }();
  return hold(take(std::move(exported)));
}

ProgramHandle join(const std::vector<std::pair<std::string, ProgramHandle>>& methods) {
  Result<Exported> joined = [&]() -> Result<Exported> {
    nb::gil_scoped_release release;
    const Compiler compiler;
    std::vector<std::pair<std::string, Exported>> parts;
    for (const auto& [name, handle] : methods) {
      DEPUTE_TRY(Exported part, compiler.load(clone(*handle.program)));
      parts.emplace_back(name, std::move(part));
    }
    return compiler.join(std::move(parts));
  }();
  return hold(take(std::move(joined)));
}

// Describes a constant by its key: element type, shape, strides, offset in elements, and its bytes: memory,
// offset and size.
using DataRow = std::tuple<std::string, std::string, std::vector<std::int64_t>, std::vector<std::int64_t>,
                           std::int64_t, Constant, std::size_t, std::size_t>;

// Parses the text of a program without constants, and adds the constants.
ProgramHandle parse_with_data(const std::string& text, const std::vector<DataRow>& rows) {
  Program program = take(parse_program(text, "<partition>", make_registry().ops()));
  const NameScope::Use use(program.names);
  for (const auto& [key, dtype, shape, strides, offset, memory, first, size] : rows) {
    if (first > memory.data.storage->size() || size > memory.data.storage->size() - first)
      throw nb::value_error("the memory does not have these bytes");
    TensorData data = make_tensor_data(dtype, {0}, nb::bytes("", 0));
    Dims sizes(shape.begin(), shape.end());
    Dims steps(strides.begin(), strides.end());
    data.type = make_tensor(data.type.dtype, std::move(sizes), std::move(steps));
    data.offset = offset;
    data.storage = Storage::part(memory.data.storage, first, size);
    if (!fits_storage(data)) throw nb::value_error("the bytes are not those of a tensor of this shape");
    program.data[Name::scoped(key)] = std::move(data);
  }
  take(verify_input(program));
  return hold(std::move(program));
}

Constant file_memory(const std::string& path) {
  Constant memory{path, {}};
  memory.data.storage = take(storage_of_file(path));
  memory.data.type =
      make_tensor(ScalarType::U8, Dims{SymInt(static_cast<std::int64_t>(memory.data.storage->size()))});
  return memory;
}

// Returns a program with this method only.
ProgramHandle only_method(const ProgramHandle& handle, const std::string& name) {
  method_of(handle, name);
  if (handle.program->methods.size() == 1) return handle;
  nb::gil_scoped_release release;
  Program program = clone(*handle.program);
  std::erase_if(program.methods, [&](const auto& method) { return method->name != name; });
  std::set<const Delegate*> called;
  for (const DelegateCall& call : get_delegates(program)) called.insert(call.delegate);
  std::erase_if(program.delegates, [&](const auto& delegate) { return !called.contains(delegate.get()); });
  return hold(std::move(program));
}

std::string text_of(const ProgramHandle& handle, bool data, bool originals, bool sources) {
  nb::gil_scoped_release release;
  PrintOptions options{.originals = originals, .sources = sources};
  if (data) options.max_inline_bytes = std::numeric_limits<std::size_t>::max();
  return print(*handle.program, options);
}

const char* kind_name(InputSpec::Kind kind) {
  switch (kind) {
    case InputSpec::Kind::UserInput:
      return "USER_INPUT";
    case InputSpec::Kind::Parameter:
      return "PARAMETER";
    case InputSpec::Kind::Buffer:
      return "BUFFER";
    case InputSpec::Kind::Constant:
      return "CONSTANT_TENSOR";
    case InputSpec::Kind::CustomObj:
      return "CUSTOM_OBJ";
    case InputSpec::Kind::Token:
      return "TOKEN";
  }
  return "";
}

const char* kind_name(OutputSpec::Kind kind) {
  switch (kind) {
    case OutputSpec::Kind::UserOutput:
      return "USER_OUTPUT";
    case OutputSpec::Kind::BufferMutation:
      return "BUFFER_MUTATION";
    case OutputSpec::Kind::ParameterMutation:
      return "PARAMETER_MUTATION";
    case OutputSpec::Kind::UserInputMutation:
      return "USER_INPUT_MUTATION";
    case OutputSpec::Kind::Token:
      return "TOKEN";
  }
  return "";
}

// Returns (kind, name of the value, target, persistent) of each input, and (kind, target) of each output.
nb::tuple signature_of(const ProgramHandle& handle, const std::string& name) {
  const Method& method = method_of(handle, name);
  nb::list inputs;
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    const InputSpec& spec = method.inputs[i];
    inputs.append(nb::make_tuple(kind_name(spec.kind), std::string(method.graph->inputs()[i]->name().str()),
                                 std::string(spec.target.str()), spec.persistent));
  }
  nb::list outputs;
  for (const OutputSpec& spec : method.outputs) {
    outputs.append(nb::make_tuple(kind_name(spec.kind), std::string(spec.target.str())));
  }
  return nb::make_tuple(inputs, outputs);
}

std::vector<std::string> method_names(const ProgramHandle& handle) {
  std::vector<std::string> names;
  for (const auto& method : handle.program->methods) names.emplace_back(method->name.str());
  return names;
}

std::vector<std::string> data_keys(const ProgramHandle& handle) {
  std::vector<std::string> keys;
  for (const auto& [key, data] : handle.program->data) keys.emplace_back(key.str());
  return keys;
}

Constant constant_of(const ProgramHandle& handle, const std::string& key) {
  const NameScope::Use use(handle.program->names);
  const TensorData* data = handle.program->find_data(Name::scoped(key));
  if (data == nullptr) throw nb::key_error(("there is no constant '" + key + "'").c_str());
  return {key, *data};
}

using RangeRow = std::tuple<std::string, std::optional<std::int64_t>, std::optional<std::int64_t>>;
std::vector<RangeRow> ranges_of(const ProgramHandle& handle) {
  std::vector<RangeRow> rows;
  for (const auto& [text, range] : handle.program->ranges) {
    auto low = range.min == Range::min_bound ? std::nullopt : std::optional(range.min);
    auto high = range.max == Range::max_bound ? std::nullopt : std::optional(range.max);
    rows.emplace_back(text, low, high);
  }
  return rows;
}

nb::bytes payload_of(const Storage& storage, const std::string& place) {
  if (!storage.is_elided()) return bytes_of(storage.bytes());
  raise({.code = "delegate", .where = place, .message = "the program text omits these bytes"});
}

DelegateHandle delegate_of(const ProgramHandle& handle, const std::string& name) {
  const NameScope::Use use(handle.program->names);
  const Delegate* delegate = handle.program->find_delegate(Name::scoped(name));
  if (delegate == nullptr) throw nb::key_error(("there is no delegate '" + name + "'").c_str());
  return {handle.program, {handle.program, delegate}};
}

nb::object debug_handle_map(const DelegateHandle& handle) {
  nb::dict map;
  for (const auto& [id, handles] : handle.delegate->debug_handle_map) {
    nb::list list;
    for (std::uint32_t each : handles) list.append(each);
    nb::object key = std::holds_alternative<std::string>(id) ? nb::cast(std::get<std::string>(id))
                                                             : nb::cast(std::get<std::int64_t>(id));
    map[key] = nb::tuple(list);
  }
  return map;
}

nb::list named_data(const DelegateHandle& handle) {
  nb::list list;
  for (const NamedData& data : handle.delegate->named_data) {
    list.append(
        nb::make_tuple(data.key, payload_of(*data.storage, data.key), data.alignment, data.external_tag));
  }
  return list;
}

}  // namespace

nb::object make_delegate(Delegate delegate) {
  return nb::cast(DelegateHandle{nullptr, std::make_shared<const Delegate>(std::move(delegate))});
}

void bind_program(nb::module_& module) {
  nb::class_<ProgramHandle>(module, "Program", "An immutable program.")
      .def("method_names", &method_names)
      .def("read_method",
           [](const ProgramHandle& self, const std::string& name) {
             return read_method(*self.program, method_of(self, name));
           })
      .def("only_method", &only_method)
      .def("signature", &signature_of)
      .def("text", &text_of, nb::arg("data"), nb::arg("originals"), nb::arg("sources"))
      .def("data_keys", &data_keys)
      .def("constant", &constant_of)
      .def("ranges", &ranges_of)
      .def("delegate", &delegate_of)
      .def("delegate_names",
           [](const ProgramHandle& self) {
             std::vector<std::string> names;
             for (const auto& delegate : self.program->delegates) names.emplace_back(delegate->name.str());
             return names;
           })
      .def("first_difference", [](const ProgramHandle& self, const ProgramHandle& other) {
        nb::gil_scoped_release release;
        return first_difference(*self.program, *other.program);
      });
  nb::class_<DelegateHandle>(module, "Delegate", "A part of a program in a backend's own form.")
      .def_prop_ro("name", [](const DelegateHandle& self) { return std::string(self.delegate->name.str()); })
      .def_prop_ro("backend_id", [](const DelegateHandle& self) { return self.delegate->backend_id; })
      .def_prop_ro("compile_specs",
                   [](const DelegateHandle& self) { return compile_specs_of(self.delegate->compile_specs); })
      .def_prop_ro("processed_bytes",
                   [](const DelegateHandle& self) {
                     return payload_of(*self.delegate->processed_bytes,
                                       std::string(self.delegate->name.str()));
                   })
      .def_prop_ro("debug_handle_map", &debug_handle_map)
      .def_prop_ro("delegate_info", [](const DelegateHandle& self) { return self.delegate->delegate_info; })
      .def_prop_ro("named_data", &named_data)
      .def("original",
           [](const DelegateHandle& self) -> std::optional<ProgramHandle> {
             if (self.delegate->original == nullptr) return std::nullopt;
             return ProgramHandle{self.delegate->original};
           })
      .def("as_program", [](const DelegateHandle& self) { return hold(take(as_program(*self.delegate))); });
  module.def("load_file", &load_file);
  module.def("load_bytes", &load_bytes);
  module.def("parse_with_data", &parse_with_data);
  module.def("file_memory", &file_memory);
  module.def("join", &join);
  module.def("add_constant_methods",
             [](const ProgramHandle& handle, const std::vector<ConstantMethod>& methods) {
               Program program = clone(*handle.program);
               for (const ConstantMethod& method : methods) take(add_constant_method(program, method));
               return hold(std::move(program));
             });
  nb::class_<ConstantMethod>(module, "ConstantMethod", "A method that returns constants.")
      .def("__init__",
           [](ConstantMethod* self, std::string name) { new (self) ConstantMethod{std::move(name), {}}; })
      // Python calls the function for the value's type: an overload for int would also accept bool.
      .def("add_bool", [](ConstantMethod& self, bool value) { self.values.emplace_back(value); })
      .def("add_int", [](ConstantMethod& self, std::int64_t value) { self.values.emplace_back(value); })
      .def("add_float", [](ConstantMethod& self, double value) { self.values.emplace_back(value); })
      .def("add_string",
           [](ConstantMethod& self, std::string value) { self.values.emplace_back(std::move(value)); })
      .def("add_tensor",
           [](ConstantMethod& self, const std::string& dtype, const std::vector<std::int64_t>& shape,
              nb::bytes bytes) { self.values.emplace_back(make_tensor_data(dtype, shape, bytes)); });
}

}  // namespace depute::python
