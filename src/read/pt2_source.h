// Where a node comes from in the user's model, out of the metadata that torch.export keeps with it.
#pragma once

#include "depute/graph.h"
#include "depute/result.h"
#include "read/json.h"

namespace depute {

// From a node's "metadata": the user's innermost line of "stack_trace" with its text, the module of
// "nn_module_stack", the operator of "torch_fn". What is missing stays empty.
Result<SourceLocation> read_source(const Json& metadata);

}  // namespace depute
