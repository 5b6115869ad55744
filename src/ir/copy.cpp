#include "ir/copy.h"

namespace depute {
namespace {

// Of an argument that is const or not, as its bodies are.
template <typename AnyArgument, typename AnyGraph>
void collect_bodies(AnyArgument& argument, std::vector<AnyGraph*>& bodies) {
  if (argument.kind == Argument::Kind::Graph) {
    bodies.push_back(argument.as_graph());
  } else if (argument.kind == Argument::Kind::List) {
    for (auto& element : argument.as_list()) collect_bodies(element, bodies);
  } else if (argument.kind == Argument::Kind::Map) {
    for (auto& entry : argument.as_map()) collect_bodies(entry.value, bodies);
  }
}

}  // namespace

Node* NodeCopier::add(const Node& node) {
  results_.clear();
  for (const Value* result : node.results()) results_.push_back({result->name(), result->type()});
  Node* copy = to_.add(node.op(), args_, kwargs_, results_);
  copy->tag = node.tag;
  copy->debug_handle = node.debug_handle;
  if (node.source != nullptr) {
    const SourceLocation*& source = sources_[node.source];
    if (source == nullptr) source = to_.add_source(*node.source);
    copy->source = source;
  }
  if (!node.replaced.empty()) copy->replaced = to_.add_origins(node.replaced);
  return copy;
}

void NodeCopier::replace_bodies(Argument& argument) const {
  if (argument.kind == Argument::Kind::Graph) {
    argument = Argument::of(bodies_.at(argument.as_graph()));
  } else if (argument.kind == Argument::Kind::List) {
    for (Argument& element : argument.as_list()) replace_bodies(element);
  } else if (argument.kind == Argument::Kind::Map) {
    for (NamedArgument& entry : argument.as_map()) replace_bodies(entry.value);
  }
}

void copy_graph(const Graph& from, Graph& to, const BodyMap& bodies) {
  std::unordered_map<const Value*, Value*> values;
  for (const Value* input : from.inputs()) values[input] = to.add_input(input->name(), input->type());
  auto map_value = [&](const Value* value) { return Argument::of(values.at(value)); };
  NodeCopier copier(to, bodies);
  for (const Node& node : from.nodes()) {
    Node* copy = copier.copy(node, map_value);
    for (std::size_t i = 0; i < node.results().size(); ++i) values[node.result(i)] = copy->result(i);
  }
  std::vector<Argument> outputs;
  for (const Argument& output : from.outputs()) outputs.push_back(copier.import(output, map_value));
  to.set_outputs(outputs);
}

std::vector<Graph*> bodies_of(Node& node) {
  std::vector<Graph*> bodies;
  for (Argument argument : node.args()) collect_bodies(argument, bodies);
  for (NamedArgument argument : node.kwargs()) collect_bodies(argument.value, bodies);
  return bodies;
}

std::vector<const Graph*> bodies_of(const Node& node) {
  std::vector<const Graph*> bodies;
  for (const Argument& argument : node.args()) collect_bodies(argument, bodies);
  for (const NamedArgument& argument : node.kwargs()) collect_bodies(argument.value, bodies);
  return bodies;
}

std::vector<Graph*> graphs_below(Graph& graph) {
  return graphs_below(graph, [](const Node&) { return true; });
}

std::vector<const Graph*> graphs_below(const Graph& graph) {
  return graphs_below(graph, [](const Node&) { return true; });
}

}  // namespace depute
