// Nodes by name. A node has the names of its results; one without results has none.
#pragma once

#include <string_view>
#include <unordered_map>

#include "ir/program.h"

namespace depute {

// The nodes of one graph.
class NodeNames {
 public:
  explicit NodeNames(const Graph& graph);
  const Node* find(std::string_view name) const;  // null if there is none

 private:
  std::unordered_map<std::string_view, const Node*> nodes_;
};

}  // namespace depute
