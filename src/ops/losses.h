// Shared by the families of losses.
#pragma once

#include "depute/builder.h"

namespace depute::internal {

// Reduces the elementwise loss by the call's `reduction`, in `dtype`.
Value* reduce_loss(Builder& b, const OpCall& call, Value* loss, ScalarType dtype);

}  // namespace depute::internal
