// Decomposes aten.einsum.default into views and matrix products.
#pragma once

#include "depute/infer.h"

namespace depute::internal {

Types infer_einsum(const OpCall& call);
Replacement einsum(Builder& b, const OpCall& call);

}  // namespace depute::internal
