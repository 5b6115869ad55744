#pragma once

#include "depute/builder.h"

namespace depute::internal {

// An adaptive max pool whose windows differ in size, over the last `count` dimensions: values and indices.
Replacement uneven_max_pool(Builder& b, const OpCall& call, std::size_t count);

}  // namespace depute::internal
