#pragma once

#include "depute/builder.h"

namespace depute::internal {

// aten.convolution over three dimensions, as convolutions of images; see the file. An empty vector for
// others.
Replacement convolution_3d(Builder& b, const OpCall& call);

}  // namespace depute::internal
