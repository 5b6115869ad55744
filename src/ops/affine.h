// Lookups in tables that are quantized in blocks (affine.cpp), for embeddings.
#pragma once

#include "depute/op.h"

namespace depute::internal {

// Replaces an embedding that reads a dequantized table by the kernel that dequantizes only the rows it reads;
// empty for other embeddings.
Replacement embedding_of_blocks(Builder& b, const OpCall& call);

}  // namespace depute::internal
