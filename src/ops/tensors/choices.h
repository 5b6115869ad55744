// Ops that select elements of a tensor, or their positions: the size of their results depends on data.
#pragma once

#include <string_view>

#include "depute/program/op.h"

namespace depute {

// Returns the argument whose nonzero elements select: "mask" for masked_select; empty for ops that select
// otherwise.
std::string_view choosing_argument(const OpDef& def);

}  // namespace depute
