// Finds nodes around a node, for configs and groups.
#pragma once

#include <string_view>
#include <vector>

#include "depute/program/graph.h"

namespace depute {

// Appends the nodes with this op that compute an operand of `node`, in operand order, each once.
void add_producers(const Node& node, std::string_view op, std::vector<const Node*>& nodes);

// The only node that uses the node's results; null if there are several, or the graph returns one.
const Node* only_user(const Node& node);

// Appends the only user if it has this op.
void add_only_user(const Node& node, std::string_view op, std::vector<const Node*>& nodes);

// Merges sets that share a node. No set is empty. Keeps the given order, without duplicates.
std::vector<std::vector<const Node*>> united(const Graph& graph,
                                             const std::vector<std::vector<const Node*>>& sets);

}  // namespace depute
