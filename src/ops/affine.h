// Tables in quantised blocks (affine.cpp), as other ops see them.
#pragma once

#include "depute/op.h"

namespace depute::internal {

// An embedding that looks up rows of a dequantised table, by the kernel that dequantises the rows it finds;
// empty for any other.
Replacement embedding_of_blocks(Builder& b, const OpCall& call);

}  // namespace depute::internal
