// Result types of an op that has a decomposition and no rule for types: those of what it decomposes into.
//
// The decomposition is built in a graph of its own, for the types of the call's arguments. Like any rule
// it is applied to calls that nobody has checked but for their schema, so it must not index sizes before
// it knows the rank. An op has a rule of its own where the decomposition takes long (recurrent layers,
// matrices), where it needs what only the node or the program tells (sizes that depend on data, ranges),
// where it converts to the rule's type, and where models have many such nodes.
#pragma once

#include "depute/program/infer.h"

namespace depute::internal {

Types infer_from_decomposition(const OpCall& call);

}  // namespace depute::internal
