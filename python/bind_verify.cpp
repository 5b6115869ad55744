// What depute.verify asks: a program that also gives what its nodes give, and what the reference kernels
// compute.
//
//   %a = delegate.call(@d0, %x)          %a = delegate.call(@d0, %x)
//   %b = aten.tan.default(%a)       ->   %b = aten.tan.default(%a)
//   return %b                            return %b, %a
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <unordered_map>

#include "bind_data.h"
#include "depute/interpret.h"

namespace depute::python {
namespace {

Method& method_of(Program& program, const std::string& name) {
  Method* method = program.find_method(name);
  if (method == nullptr) throw nb::key_error(("there is no method '" + name + "'").c_str());
  return *method;
}

// A tensor of a node: which of the user's outputs it is, its name, the node's op, the delegate that the node
// calls (else empty), and the node's place in the model.
using ExposedRow = std::tuple<std::size_t, std::string, std::string, std::string, std::string>;

class Exposer {
 public:
  explicit Exposer(Method& method) : method_(method) {
    for (std::size_t i = 0; i < method.outputs.size(); ++i) {
      const Argument& output = method.graph->outputs()[i];
      outputs_.push_back(output);
      if (method.outputs[i].kind != OutputSpec::Kind::UserOutput) continue;
      if (output.is_value()) places_.emplace(output.as_value(), user_outputs_);
      ++user_outputs_;
    }
  }

  std::vector<ExposedRow> run() {
    for (Node& node : method_.graph->nodes()) {
      for (Value* result : node.results()) {
        if (result->type().is_tensor()) add(node, *result);
      }
    }
    method_.graph->set_outputs(outputs_);
    method_.out_spec.clear();
    return std::move(rows_);
  }

 private:
  void add(const Node& node, Value& value) {
    auto [place, is_new] = places_.emplace(&value, user_outputs_);
    if (is_new) {
      ++user_outputs_;
      outputs_.push_back(Argument::of(&value));
      method_.outputs.push_back({.kind = OutputSpec::Kind::UserOutput});
    }
    bool is_delegate = !node.args().empty() && node.arg(0).kind == Argument::Kind::Delegate;
    rows_.emplace_back(place->second, std::string(value.name().str()), std::string(node.op().str()),
                       is_delegate ? std::string(node.arg(0).as_symbol().str()) : std::string(),
                       node.source == nullptr ? std::string() : node.source->str());
  }

  Method& method_;
  std::vector<Argument> outputs_;
  std::size_t user_outputs_ = 0;
  std::unordered_map<const Value*, std::size_t> places_;
  std::vector<ExposedRow> rows_;
};

std::pair<ProgramHandle, std::vector<ExposedRow>> expose(const ProgramHandle& handle,
                                                         const std::string& name) {
  Program program = clone(*handle.program);
  std::vector<ExposedRow> rows = Exposer(method_of(program, name)).run();
  return {hold(std::move(program)), std::move(rows)};
}

Content content_of(nb::handle object) {
  if (object.is_none()) return {};
  if (nb::isinstance<Constant>(object)) return nb::cast<const Constant&>(object).data;
  if (PyBool_Check(object.ptr())) return nb::cast<bool>(object);
  if (PyLong_Check(object.ptr())) return nb::cast<std::int64_t>(object);
  return nb::cast<double>(object);
}

nb::object object_of(const Content& content, const std::string& name) {
  if (const auto* data = std::get_if<TensorData>(&content)) return nb::cast(Constant{name, *data});
  if (const auto* truth = std::get_if<bool>(&content)) return nb::bool_(*truth);
  if (const auto* number = std::get_if<std::int64_t>(&content)) return nb::int_(*number);
  if (const auto* real = std::get_if<double>(&content)) return nb::float_(*real);
  return nb::none();
}

// What the user's outputs hold.
nb::list interpreted(const ProgramHandle& handle, const std::string& name, const nb::list& inputs) {
  const Method* method = handle.program->find_method(name);
  if (method == nullptr) throw nb::key_error(("there is no method '" + name + "'").c_str());
  std::vector<Content> contents;
  for (nb::handle input : inputs) contents.push_back(content_of(input));
  Result<std::vector<Content>> results = [&] {
    nb::gil_scoped_release release;
    return interpret(*handle.program, *method, contents);
  }();
  std::vector<Content> outputs = take(std::move(results));
  nb::list list;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (method->outputs[i].kind == OutputSpec::Kind::UserOutput) list.append(object_of(outputs[i], "output"));
  }
  return list;
}

}  // namespace

void bind_verify(nb::module_& module) {
  module.def("expose", &expose);
  module.def("interpret", &interpreted);
  // A constant of bytes in row-major order.
  module.def("make_constant",
             [](const std::string& dtype, const std::vector<std::int64_t>& shape, nb::bytes bytes) {
               return Constant{"input", make_tensor_data(dtype, shape, bytes)};
             });
}

}  // namespace depute::python
