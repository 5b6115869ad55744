#include "partition/node_names.h"

namespace depute {

NodeNames::NodeNames(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    for (const Value* result : node.results()) nodes_.emplace(result->name().str(), &node);
  }
}

const Node* NodeNames::find(std::string_view name) const {
  auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : found->second;
}

}  // namespace depute
