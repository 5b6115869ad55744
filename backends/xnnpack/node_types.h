// The combinations of element types that XNNPACK nodes accept, according to its sources of 2026-03-11. There
// is a row for each combination that is accepted, has a kernel, and computes the correct result.
//
//   FullyConnected: qdint8 input, qcint8 filter, f32 bias or none, f32 result
#pragma once

#include <optional>

#include "payload_generated.h"

namespace depute::xnnpack {

// For elementwise nodes and nodes that move elements: all operands and the result have this type.
bool takes_type(wire::NodeUnion kind, wire::DataType type);
bool converts(wire::DataType from, wire::DataType to);
// For FullyConnected and convolutions. `bias` is nullopt if there is no bias.
bool multiplies(wire::NodeUnion kind, wire::DataType input, wire::DataType filter,
                std::optional<wire::DataType> bias, wire::DataType output);
// True if integer inputs and outputs must have the same scale and zero point.
bool keeps_scale(wire::NodeUnion kind);

}  // namespace depute::xnnpack
