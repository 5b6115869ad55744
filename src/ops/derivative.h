// torch.gradient: derivatives of a tensor along its dimensions.
#pragma once

#include "depute/builder.h"
#include "depute/infer.h"

namespace depute::internal {

Types infer_gradient(const OpCall& call);
Replacement gradient(Builder& b, const OpCall& call);

}  // namespace depute::internal
