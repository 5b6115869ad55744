// Ops whose results are some elements of a tensor, or their positions: how many, only the data tell.
#pragma once

#include <string_view>

#include "depute/op.h"

namespace depute {

// The argument whose elements other than 0 tell which are chosen: "mask" of masked_select; empty for ops that
// choose otherwise.
std::string_view choosing_argument(const OpDef& def);

}  // namespace depute
