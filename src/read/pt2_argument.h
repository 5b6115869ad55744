// Reads the values that nodes are called with: the closed set of kinds torch.export writes, each an object
// with one field.
//
//   {"as_sym_ints": [{"as_name": "s"}, {"as_int": 2}]}   ->  [%s, 2]
#pragma once

#include "depute/argument.h"
#include "depute/result.h"
#include "read/json.h"
#include "read/pt2_graph.h"

namespace depute {

Result<Argument> read_argument(GraphReader& reader, const Json& json);

// A literal of a signature: {"as_int": 3}, {"as_none": true}, ... Nothing when `json` is of another kind.
Result<std::optional<Argument>> read_literal(const Json& json);

// "torch.ops.aten.add.Tensor" -> "aten.add.Tensor"; other targets stay as they are.
Symbol op_of_target(std::string_view target);

}  // namespace depute
