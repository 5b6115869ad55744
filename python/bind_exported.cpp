// Converts programs in memory in torch's schema: Python's dicts and lists become the compiler's SchemaValues.
//
//   depute/_from_torch.py   an ExportedProgram   ->  dicts, and the addresses of its weights
//   here                    dicts                ->  ExportedModel, and the program that it describes
//   here                    a program            ->  JSON
//   depute/_to_torch.py     JSON                 ->  an ExportedProgram, made by torch's own reader
#include "depute/compiler/exported_model.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bind.h"

namespace depute::python {
namespace {

constexpr int max_depth = 512;  // the limit for JSON in .pt2 files

std::string text_of(nb::handle object) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (text == nullptr) throw nb::python_error();
  return {text, static_cast<std::size_t>(size)};
}

SchemaValue value_of(nb::handle object, int depth);

SchemaValue::List list_of(nb::handle object, int depth) {
  SchemaValue::List list;
  list.reserve(nb::len(object));
  for (nb::handle element : nb::borrow<nb::list>(object)) list.push_back(value_of(element, depth));
  return list;
}

SchemaValue::Object object_of(nb::handle object, int depth) {
  SchemaValue::Object members;
  members.reserve(nb::len(object));
  for (auto [key, member] : nb::borrow<nb::dict>(object))
    members.emplace_back(text_of(key), value_of(member, depth));
  return members;
}

std::int64_t integer_of(nb::handle object) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow == 0) return number;
  raise({.code = "from_torch", .message = "the program has an integer that does not fit in 64 bits"});
}

SchemaValue value_of(nb::handle object, int depth) {
  if (depth == max_depth) throw nb::value_error("the program is nested too deeply");
  if (PyUnicode_Check(object.ptr())) return {text_of(object)};
  if (PyBool_Check(object.ptr())) return {object.is(Py_True)};
  if (PyLong_Check(object.ptr())) return {integer_of(object)};
  if (PyFloat_Check(object.ptr())) return {nb::cast<double>(object)};
  if (PyDict_Check(object.ptr())) return {object_of(object, depth + 1)};
  if (PyList_Check(object.ptr())) return {list_of(object, depth + 1)};
  if (object.is_none()) return {};
  throw nb::type_error("a program must consist of dicts, lists, strs and numbers");
}

// The name of a storage, its address, its size in bytes and the object that owns it.
using StorageRow = std::tuple<std::string, std::uintptr_t, std::size_t, nb::object>;

ProgramHandle load_exported(nb::handle program, const std::pair<nb::object, nb::object>& configs,
                            const std::vector<StorageRow>& storages,
                            const std::vector<std::pair<std::string, DelegateHandle>>& delegates,
                            const std::string& name) {
  ExportedModel model{.program = value_of(program, 0),
                      .weights = value_of(configs.first, 0),
                      .constants = value_of(configs.second, 0)};
  for (const auto& [key, address, size, owner] : storages) {
    std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(address), size);
    model.storages[key] = borrowed_storage(bytes, share(owner));
  }
  for (const auto& [key, handle] : delegates) model.delegates[key] = handle.delegate;
  Result<Exported> read = [&] {
    nb::gil_scoped_release release;
    return Compiler().load(model, name);
  }();
  return hold(take(std::move(read)));
}

std::string schema_for_torch(const ProgramHandle& handle, const std::string& method, bool is_edge,
                             bool is_flat) {
  const TorchSchemaOptions options{
      .is_edge = is_edge, .calls_delegates = true, .is_flat = is_flat, .leaves_names = true};
  return take(torch_schema(*handle.program, method_of(handle, method), options));
}

nb::bytes pt2_of(const ProgramHandle& handle) {
  Result<std::vector<std::byte>> bytes = [&] {
    nb::gil_scoped_release release;
    return pt2_bytes(*handle.program);
  }();
  return bytes_of(take(std::move(bytes)));
}

// Returns an example value for each of these sizes of a method's inputs; 2 if none is known.
std::vector<std::int64_t> example_numbers(const ProgramHandle& handle, const std::string& method,
                                          const std::vector<std::string>& sizes) {
  const NameScope::Use use(handle.program->names);
  const auto symbols = example_sizes(*handle.program, method_of(handle, method));
  std::vector<std::int64_t> numbers;
  for (const std::string& text : sizes)
    numbers.push_back(evaluate(SymInt(take(parse_sym(text))), symbols).value_or(2));
  return numbers;
}

}  // namespace

void bind_exported(nb::module_& module) {
  module.def("load_exported", &load_exported);
  module.def("torch_schema", &schema_for_torch);
  module.def("pt2_bytes", &pt2_of);
  module.def("example_sizes", &example_numbers);
}

}  // namespace depute::python
