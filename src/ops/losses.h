// What the families of losses share.
#pragma once

#include "depute/builder.h"

namespace depute::internal {

// The loss of each element reduced as the call's `reduction` says, in `dtype`.
Value* reduce_loss(Builder& b, const OpCall& call, Value* loss, ScalarType dtype);

}  // namespace depute::internal
