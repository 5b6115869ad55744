// Reads the arguments of nodes: each is one of torch.export's fixed set of kinds, an object with one field.
//
//   {"as_sym_ints": [{"as_name": "s"}, {"as_int": 2}]}   ->  [%s, 2]
#pragma once

#include "depute/program/argument.h"
#include "depute/program/result.h"
#include "read/json.h"
#include "read/pt2/pt2_graph.h"

namespace depute {

Result<Argument> read_argument(GraphReader& reader, const Json& json);

// Reads a literal of a signature: {"as_int": 3}, {"as_none": true}, ... Nullopt for other kinds.
Result<std::optional<Argument>> read_literal(const Json& json);

// Converts "torch.ops.aten.add.Tensor" to "aten.add.Tensor"; returns other targets unchanged.
Name op_of_target(std::string_view target);

}  // namespace depute
