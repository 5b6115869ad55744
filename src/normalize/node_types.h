// Infers the result types of a node where possible.
#pragma once

#include <optional>
#include <vector>

#include "depute/program/graph.h"
#include "depute/program/result.h"

namespace depute {

// Fails for an invalid call. Returns nullopt if the op's rule lacks facts that torch proved about symbolic
// sizes (that two are equal, for instance); the node's own types then hold. Call check_call() first.
Result<std::optional<std::vector<Type>>> node_types(const Node& node);

}  // namespace depute
