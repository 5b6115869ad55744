// The types that a node's op gives, where they can be told.
#pragma once

#include <optional>
#include <vector>

#include "depute/graph.h"
#include "depute/result.h"

namespace depute {

// Fails for a call that is wrong. Nothing where the op's rule does not see what torch has proved of symbolic
// sizes (two that are equal, say): then the node's own types hold. The call must have been checked.
Result<std::optional<std::vector<Type>>> node_types(const Node& node);

}  // namespace depute
