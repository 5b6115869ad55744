// Rules that rows of another family use, beside the family in whose file they are: FILE.cpp.
#pragma once

#include "depute/program/builder.h"
#include "depute/program/infer.h"

namespace depute::internal {

// affine: replaces an embedding that reads a dequantized table by the kernel that dequantizes only the rows it
// reads; empty for other embeddings.
Replacement embedding_of_blocks(Builder& b, const OpCall& call);

// convolution_3d: aten.convolution over three dimensions as convolutions of images; empty for other calls.
Replacement convolution_3d(Builder& b, const OpCall& call);

// derivative: torch.gradient, derivatives of a tensor along its dimensions.
Types infer_gradient(const OpCall& call);
Replacement gradient(Builder& b, const OpCall& call);

// einsum: views and matrix products.
Types infer_einsum(const OpCall& call);
Replacement einsum(Builder& b, const OpCall& call);

// losses: reduces the elementwise loss by the call's `reduction`, in `dtype`.
Value* reduce_loss(Builder& b, const OpCall& call, Value* loss, ScalarType dtype);

// uneven_windows: values and indices of an adaptive max pool over the last `count` dimensions whose
// windows differ in size.
Replacement uneven_max_pool(Builder& b, const OpCall& call, std::size_t count);

}  // namespace depute::internal
