// Compares the sizes that XNNPACK computes for a node's result at run time with the written sizes.
//
//   Conv2d of [1, 8, 8, 3] with a filter of [4, 3, 3, 3]   gives [1, 6, 6, 4]
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "payload_generated.h"

namespace depute::xnnpack {

using Shape = std::span<const std::uint32_t>;

// Returns a description of the fault, or "". `inputs` are in the node's order; an absent input is empty. With
// `varies`, written sizes are upper bounds, so only ranks are compared.
std::string shape_fault(const wire::Node& node, std::span<const Shape> inputs, Shape output, bool varies);

}  // namespace depute::xnnpack
