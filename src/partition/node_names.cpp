#include "partition/node_names.h"

namespace depute {

bool has_parts(std::string_view name, std::string_view parts) {
  if (parts.empty()) return false;
  for (std::size_t at = name.find(parts); at != std::string_view::npos; at = name.find(parts, at + 1)) {
    const std::size_t end = at + parts.size();
    const bool starts = at == 0 || name[at - 1] == '.';
    if (starts && (end == name.size() || name[end] == '.')) return true;
  }
  return false;
}

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
