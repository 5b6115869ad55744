// Serializes a method in the schema of ExecuTorch's own serializer (executorch/exir/serde), which is an older
// one of torch's: the content of an ETRecord. ExecuTorch 1.4 and 1.5 read it.
//
//   %y: f32[2] = aten.relu.default(%x) #3
//     ->  {"name": "y", "target": "executorch.exir.dialects.edge.ops.aten.relu.default",
//          "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}}], "outputs": [...],
//          "metadata": {"debug_handle": "3", "from_node": "[{\"name\": \"relu\", ...}]", ...}}
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// The id of the exported graph, which nodes of the edge program name as the graph they come from.
inline constexpr std::int64_t exported_graph_id = 1;

struct ExirOptions {
  bool is_edge = false;  // targets are ops of the Edge dialect, views are copies
  // Names of the exported program's nodes, by debug handle: what `from_node` tells of nodes with that handle.
  std::map<std::uint32_t, std::string> origins = {};
};

// Fails for values that this schema cannot express: symbolic floats, complex numbers, custom objects. An op whose
// argument names are unknown becomes an op without a schema, which readers show but cannot run.
Result<nlohmann::ordered_json> exir_program(const Program& program, const Method& method,
                                            const ExirOptions& options);

// The names of a method's nodes, as written by exir_program(), by debug handle. Nodes of bodies have none: their names
// may be those of other graphs' nodes, and a reader looks names up in all graphs.
std::map<std::uint32_t, std::string> node_names(const Method& method);

}  // namespace depute
