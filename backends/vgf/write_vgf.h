// Writes a graph as a VGF file, format 0.4: the payload of ExecuTorch's VgfBackend.
//
//   header, table of modules (SPIR-V), sequence of segments, table of resources, constants
//
// The file is that of Arm's model-converter 0.9.0, byte by byte, but for graphs that the converter simplifies.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backends/tosa/graph.h"
#include "depute/backend/backend.h"
#include "depute/program/result.h"

namespace depute::vgf {

std::vector<std::byte> write_vgf(const tosa::TosaGraph& graph);

// Returns the resources and the operators, a line each. The bytes come from a file and may be corrupt: then fails.
Result<std::string> describe_vgf(std::span<const std::byte> bytes);
// Returns the places of the tables and of the constants. The bytes may be corrupt, as in describe_vgf().
Result<PayloadLayout> layout_of_vgf(std::span<const std::byte> bytes);

}  // namespace depute::vgf
