// Functions for depute.verify: a program that also returns intermediate values, and the reference kernels.
//
//   %a = delegate.call(@d0, %x)          %a = delegate.call(@d0, %x)
//   %b = aten.tan.default(%a)       ->   %b = aten.tan.default(%a)
//   return %b                            return %b, %a
//
// A control-flow body is checked as a separate program with the arguments of its calls.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <unordered_map>

#include "bind_data.h"
#include "depute/program/interpret.h"

namespace depute::python {
namespace {

template <typename AnyProgram>
auto& method_of(AnyProgram& program, const std::string& name) {
  auto* method = program.find_method(name);
  if (method == nullptr) throw nb::key_error(("there is no method '" + name + "'").c_str());
  return *method;
}

// Describes a node's tensor: index among the user outputs, name, the node's op, the called delegate (or ""),
// and the node's place in the model.
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

RuntimeValue content_of(nb::handle object) {
  if (object.is_none()) return {};
  if (nb::isinstance<Constant>(object)) return nb::cast<const Constant&>(object).data;
  if (PyBool_Check(object.ptr())) return nb::cast<bool>(object);
  if (PyLong_Check(object.ptr())) return nb::cast<std::int64_t>(object);
  return nb::cast<double>(object);
}

nb::object object_of(const RuntimeValue& content, const std::string& name) {
  if (const auto* data = std::get_if<TensorData>(&content)) return nb::cast(Constant{name, *data});
  if (const auto* truth = std::get_if<bool>(&content)) return nb::bool_(*truth);
  if (const auto* number = std::get_if<std::int64_t>(&content)) return nb::int_(*number);
  if (const auto* real = std::get_if<double>(&content)) return nb::float_(*real);
  return nb::none();
}

nb::list list_of(std::span<const RuntimeValue> contents, const std::string& name) {
  nb::list list;
  for (const RuntimeValue& content : contents) list.append(object_of(content, name));
  return list;
}

std::vector<RuntimeValue> run(const ProgramHandle& handle, const Method& method, const nb::list& inputs,
                              const BodyObserver& observe = {}) {
  std::vector<RuntimeValue> contents;
  for (nb::handle input : inputs) contents.push_back(content_of(input));
  Result<std::vector<RuntimeValue>> results = [&] {
    nb::gil_scoped_release release;
    return interpret(*handle.program, method, contents, observe);
  }();
  return take(std::move(results));
}

// Returns the values of the user outputs.
nb::list interpreted(const ProgramHandle& handle, const std::string& name, const nb::list& inputs) {
  const Method& method = method_of(*handle.program, name);
  const std::vector<RuntimeValue> outputs = run(handle, method, inputs);
  nb::list list;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (method.outputs[i].kind == OutputSpec::Kind::UserOutput) list.append(object_of(outputs[i], "output"));
  }
  return list;
}

// --- bodies of control flow

template <typename AnyGraph>
auto& node_of(AnyGraph& graph, const std::string& result) {
  for (auto& node : graph.nodes()) {
    for (const Value* value : node.results()) {
      if (value->name().str() == result) return node;
    }
  }
  throw nb::key_error(("no node has the result '" + result + "'").c_str());
}

// Returns the body calls that one node makes, in order: the index of the argument with the body, and the
// values of the body's inputs.
std::vector<std::pair<std::size_t, nb::list>> body_calls(const ProgramHandle& handle, const std::string& name,
                                                         const nb::list& inputs, const std::string& result) {
  const Method& method = method_of(*handle.program, name);
  const Node& wanted = node_of(*method.graph, result);
  std::vector<std::pair<std::size_t, std::vector<RuntimeValue>>> calls;
  run(handle, method, inputs,
      [&](const Node& node, std::size_t argument, std::span<const RuntimeValue> given) {
        if (&node == &wanted) calls.emplace_back(argument, std::vector(given.begin(), given.end()));
      });
  std::vector<std::pair<std::size_t, nb::list>> list;
  for (const auto& [argument, given] : calls) list.emplace_back(argument, list_of(given, "input"));
  return list;
}

// Returns a program whose only method is the body, so that it can run alone, and the body's name.
std::pair<ProgramHandle, std::string> body_program(const ProgramHandle& handle, const std::string& name,
                                                   const std::string& result, std::size_t argument) {
  Program program = clone(*handle.program);
  std::erase_if(program.methods, [&](const Owned<Method>& method) { return method->name.str() != name; });
  Method& method = method_of(program, name);
  const Graph* wanted = std::as_const(node_of(*method.graph, result)).arg(argument).as_graph();
  auto body = std::ranges::find(method.bodies, wanted, [](const Owned<Graph>& each) { return each.get(); });
  if (body == method.bodies.end()) throw nb::key_error("the body does not belong to the method");
  method.graph = std::move(*body);
  method.bodies.erase(body);
  method.inputs.assign(wanted->inputs().size(), {});
  method.outputs.assign(wanted->outputs().size(), {});
  method.in_spec.clear();
  method.out_spec.clear();
  std::string body_name(wanted->name().str());
  return {hold(std::move(program)), std::move(body_name)};
}

}  // namespace

void bind_verify(nb::module_& module) {
  module.def("expose", &expose);
  module.def("interpret", &interpreted);
  module.def("body_calls", &body_calls);
  module.def("body_program", &body_program);
  // A constant with these bytes in row-major order.
  module.def("make_constant",
             [](const std::string& dtype, const std::vector<std::int64_t>& shape, nb::bytes bytes) {
               return Constant{"input", make_tensor_data(dtype, shape, bytes)};
             });
}

}  // namespace depute::python
