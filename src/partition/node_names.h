// Finds nodes by name. A node has the names of its results; a node without results has no name.
#pragma once

#include <string_view>
#include <unordered_map>

#include "depute/program/program.h"

namespace depute {

// True if `parts` is a run of whole parts of a dotted name. gelu and aten.gelu match aten.gelu.default, but
// not aten.gelu_backward.default.
bool has_parts(std::string_view name, std::string_view parts);

// Maps names to the nodes of one graph.
class NodeNames {
 public:
  explicit NodeNames(const Graph& graph);
  const Node* find(std::string_view name) const;  // null if there is none

 private:
  std::unordered_map<std::string_view, const Node*> nodes_;
};

}  // namespace depute
