// Which element types the nodes of XNNPACK take together, as its 2026-03-11 sources have it: a row for each
// combination that it accepts, has a kernel for, and computes what the program means with.
//
//   FullyConnected: qdint8 input, qcint8 filter, f32 bias or none, f32 result
#pragma once

#include <optional>

#include "payload_generated.h"

namespace depute::xnnpack {

// Elementwise nodes and those that move elements: one type for all they read and write.
bool takes_type(wire::NodeUnion kind, wire::DataType type);
bool converts(wire::DataType from, wire::DataType to);
// FullyConnected and convolutions. No bias is none.
bool multiplies(wire::NodeUnion kind, wire::DataType input, wire::DataType filter,
                std::optional<wire::DataType> bias, wire::DataType output);
// Integers come in and go out with the same scale and zero point.
bool keeps_scale(wire::NodeUnion kind);

}  // namespace depute::xnnpack
