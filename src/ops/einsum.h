// aten.einsum.default as views and matrix products.
#pragma once

#include "depute/infer.h"

namespace depute::internal {

Types infer_einsum(const OpCall& call);
Replacement einsum(Builder& b, const OpCall& call);

}  // namespace depute::internal
