// Writes a graph as a SPIR-V module with the instructions TOSA.001000.1.
//
//   ADD(x, y)   ->   %24 = OpExtInst %12 %23 Add %14 %16
//
// Inputs are bound to 0, 1, ..., and results to the numbers behind them.
#pragma once

#include <string_view>

#include "backends/tosa/graph.h"
#include "constants.h"
#include "spirv.h"

namespace depute::vgf {

inline constexpr std::string_view graph_name = "graph_partition_0";  // of the module and its entry point
inline constexpr std::string_view instruction_set = "TOSA.001000.1";

spirv::Words write_module(const tosa::TosaGraph& graph, const UsedConstants& constants);

}  // namespace depute::vgf
