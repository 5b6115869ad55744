#include "tools/verify/expose.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace depute {
namespace {

const Node* node_with_result(const Graph& graph, std::string_view result) {
  for (const Node& node : graph.nodes()) {
    for (const Value* value : node.results()) {
      if (value->name().str() == result) return &node;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<ExposedTensor> expose_tensors(Method& method) {
  std::vector<Argument> outputs;
  std::unordered_map<const Value*, std::size_t> places;
  std::size_t user_outputs = 0;
  for (std::size_t i = 0; i < method.outputs.size(); ++i) {
    const Argument& output = method.graph->outputs()[i];
    outputs.push_back(output);
    if (method.outputs[i].kind != OutputSpec::Kind::UserOutput) continue;
    if (output.is_value()) places.emplace(output.as_value(), user_outputs);
    ++user_outputs;
  }
  std::vector<ExposedTensor> exposed;
  for (Node& node : method.graph->nodes()) {
    for (Value* result : node.results()) {
      if (!result->type().is_tensor()) continue;
      const auto [place, is_new] = places.emplace(result, user_outputs);
      if (is_new) {
        ++user_outputs;
        outputs.push_back(Argument::of(result));
        method.outputs.push_back({.kind = OutputSpec::Kind::UserOutput});
      }
      exposed.push_back({place->second, result});
    }
  }
  method.graph->set_outputs(outputs);
  method.out_spec.clear();
  return exposed;
}

Program body_program(const Program& program, std::string_view method_name, std::string_view result,
                     std::size_t argument) {
  Program alone = clone(program);
  std::erase_if(alone.methods,
                [&](const Owned<Method>& method) { return method->name.str() != method_name; });
  Method& method = *alone.methods.at(0);
  const Graph* wanted = node_with_result(*method.graph, result)->arg(argument).as_graph();
  const auto body =
      std::ranges::find(method.bodies, wanted, [](const Owned<Graph>& each) { return each.get(); });
  method.graph = std::move(*body);
  method.bodies.erase(body);
  method.inputs.assign(wanted->inputs().size(), {});
  method.outputs.assign(wanted->outputs().size(), {});
  method.in_spec.clear();
  method.out_spec.clear();
  return alone;
}

}  // namespace depute
