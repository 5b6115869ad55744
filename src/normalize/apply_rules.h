// Replaces nodes by the values that rules build: decompositions, and forms that the runtime's kernels accept.
#pragma once

#include <functional>

#include "depute/program/op.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Returns the rule for a node, or null to skip the node. A rule that returns no values leaves its node
// unchanged.
using RuleOfNode = std::function<DecomposeFunction(const Node& node)>;

// Visits the nodes once, in order. Nodes that a rule builds are inserted before the node and visited too. New
// bodies are moved to the method and not visited.
Status apply_rules(Method& method, Graph& graph, const Ranges& ranges, const RuleOfNode& rule_of);

}  // namespace depute
