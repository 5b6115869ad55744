// Replaces nodes by what rules build for them: decompositions, and forms that the runtime's kernels take.
#pragma once

#include <functional>

#include "depute/op.h"
#include "depute/program.h"
#include "depute/result.h"

namespace depute {

// The rule for a node, null to let it be. A rule that gives no values leaves its node as it is.
using RuleOfNode = std::function<DecomposeFunction(const Node& node)>;

// Goes forward once. What a rule builds lies before the node and is visited in turn; the bodies that it makes
// become the method's, and are not visited.
Status apply_rules(Method& method, Graph& graph, const Ranges& ranges, const RuleOfNode& rule_of);

}  // namespace depute
