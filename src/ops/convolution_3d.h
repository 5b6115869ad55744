#pragma once

#include "depute/builder.h"

namespace depute::internal {

// Returns aten.convolution over three dimensions as convolutions of images (see convolution_3d.cpp). Empty
// for other calls.
Replacement convolution_3d(Builder& b, const OpCall& call);

}  // namespace depute::internal
