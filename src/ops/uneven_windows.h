#pragma once

#include "depute/builder.h"

namespace depute::internal {

// Returns values and indices of an adaptive max pool over the last `count` dimensions whose windows differ in
// size.
Replacement uneven_max_pool(Builder& b, const OpCall& call, std::size_t count);

}  // namespace depute::internal
