// Calls that are alike: the same op with the same arguments. Values are told apart by name, so both calls are
// of one graph.
#pragma once

#include "depute/graph.h"
#include "depute/hash.h"

namespace depute {

bool same_call(const Node& a, const Node& b);
Hash128 call_hash(const Node& node);  // equal for calls that are alike

// The same but for the names of values, debug handles, and where the nodes come from.
bool alike(const Node& a, const Node& b);

}  // namespace depute
