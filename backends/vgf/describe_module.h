// Reads a SPIR-V module with a graph of TOSA's instructions, for people.
//
//   OpExtInst %53 %55 %56 Reshape %24 %52   ->   %55: f32[6, 1, 1, 4] = RESHAPE(%24, [6, 1, 1, 4])
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "depute/program/result.h"

namespace depute::vgf {

// Returns inputs, operators and outputs, a line each. The words come from a file and may be corrupt: fails if an
// instruction does not fit, and prints ids for what is not known.
Result<std::string> describe_module(std::span<const std::uint32_t> words);

}  // namespace depute::vgf
