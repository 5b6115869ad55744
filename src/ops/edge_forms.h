// Forms of core ops in ExecuTorch's Edge dialect, in which they are composed of other ops. Partitioners
// written for the dialect expect these forms, unless they keep the op whole.
#pragma once

#include "depute/program/op.h"

namespace depute {

// Returns the rule that writes the op's Edge form; null if the dialect has the op unchanged.
DecomposeFunction edge_form(Name op);

}  // namespace depute
