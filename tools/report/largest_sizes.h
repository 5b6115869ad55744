// Computes costs at the largest sizes that a program's ranges allow.
//
//   f32[s0, 8], s0 in [1, 64]                     largest_bytes: 2048
//   aten.mm.default(f32[s0, 8], f32[8, 4])        largest_macs: 2048
//   f32[s1, 8], s1 in [1, inf]                    neither has one
#pragma once

#include <cstdint>
#include <optional>

#include "depute/program/graph.h"

namespace depute {

std::optional<std::uint64_t> largest_bytes(const TensorType& type, const Ranges& ranges);
// Number of multiply-accumulates; 0 for other ops.
std::optional<std::uint64_t> largest_macs(const Node& node, const Ranges& ranges);

}  // namespace depute
