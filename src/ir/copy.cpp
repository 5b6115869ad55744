#include "ir/copy.h"

namespace depute {

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

void inherit(Node& made, const Node& node) {
  made.tag = node.tag;
  made.debug_handle = node.debug_handle;
  made.source = node.source;
  made.replaced = node.replaced;
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

}  // namespace depute
