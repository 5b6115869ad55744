// Core ops that ExecuTorch's Edge dialect writes in others, unless a partitioner wants them whole: what
// partitioners that are written for it look for.
#pragma once

#include "depute/op.h"

namespace depute {

// The rule that writes the op so; null: the dialect has it as it is here.
DecomposeFunction edge_form(Symbol op);

}  // namespace depute
