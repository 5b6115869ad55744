// The sizes that a node gives, as XNNPACK computes them when it runs, against those that are written.
//
//   Conv2d of [1, 8, 8, 3] with a filter of [4, 3, 3, 3]   gives [1, 6, 6, 4]
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "payload_generated.h"

namespace depute::xnnpack {

using Shape = std::span<const std::uint32_t>;

// What is wrong, or empty. `inputs` are in the node's order, one that is none is empty. Where sizes vary,
// what is written are upper bounds: then only ranks are compared.
std::string shape_fault(const wire::Node& node, std::span<const Shape> inputs, Shape output, bool varies);

}  // namespace depute::xnnpack
