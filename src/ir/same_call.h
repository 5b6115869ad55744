// Compares calls in one graph: equal calls have the same op and the same arguments. Values are compared by
// name.
#pragma once

#include "depute/program/graph.h"
#include "depute/program/hash.h"

namespace depute {

bool same_call(const Node& a, const Node& b);
Hash128 call_hash(const Node& node);  // equal for calls that same_call() accepts

// Compares two nodes except for value names, debug handles and sources.
bool alike(const Node& a, const Node& b);

}  // namespace depute
