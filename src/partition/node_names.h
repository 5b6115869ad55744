// Nodes by name. A node has the names of its results; one without results has none.
#pragma once

#include <string_view>
#include <unordered_map>

#include "depute/program.h"

namespace depute {

// Whether `parts` are some of the parts of a dotted name: gelu and aten.gelu are of aten.gelu.default, but
// not of aten.gelu_backward.default.
bool has_parts(std::string_view name, std::string_view parts);

// The nodes of one graph.
class NodeNames {
 public:
  explicit NodeNames(const Graph& graph);
  const Node* find(std::string_view name) const;  // null if there is none

 private:
  std::unordered_map<std::string_view, const Node*> nodes_;
};

}  // namespace depute
