// Finds the source location of a node in the user's model from the metadata that torch.export keeps.
#pragma once

#include "depute/program/graph.h"
#include "depute/program/result.h"
#include "read/json.h"

namespace depute {

// Reads a node's "metadata": the user's innermost line of "stack_trace" with its text, the module of
// "nn_module_stack", and the operator of "torch_fn". Missing fields stay empty.
Result<SourceLocation> read_source(const Json& metadata);

}  // namespace depute
