// The passes of normalisation. Each is one function in a file of its name; what is true afterwards stands
// above it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "depute/normalise.h"
#include "depute/program.h"
#include "depute/result.h"

namespace depute {

struct Pass {
  std::string_view name;  // as in --dump-after: "fold-constants"
  Status (*run)(Program& program, const NormaliseOptions& options);
};

// Afterwards no node wraps a body that only sets a mode (no_grad, disabled autocast): the body stands in its
// place. What has bodies is control flow that read_control_flow() accepts, and each body belongs to one node.
Status inline_wrappers(Program& program, const NormaliseOptions& options);

// Afterwards no node is an assertion, and copying twins of views (aten.view_copy) are views (aten.view).
Status drop_assertions(Program& program, const NormaliseOptions& options);

// Afterwards no node writes to its arguments: what a method leaves in its buffers and inputs are outputs in
// front of the user's. A buffer that some method writes is stored to by every method that reads it.
Status functionalise(Program& program, const NormaliseOptions& options);

// Afterwards all tensors are contiguous, and every known node has the result types that its op gives; a file
// that says otherwise is refused. Only user inputs may be channels_last; a copy follows them.
Status drop_layouts(Program& program, const NormaliseOptions& options);

// Afterwards no node has a decomposition, but for those kept by options.ops_to_not_decompose.
Status decompose(Program& program, const NormaliseOptions& options);

// Afterwards the tensor arguments that an op computes in one element type have that type, and no number
// stands in a tensor's place.
Status promote_types(Program& program, const NormaliseOptions& options);

// Afterwards no node returns its first argument unchanged.
Status remove_noops(Program& program, const NormaliseOptions& options);

// Afterwards no softmax is guarded against rows that are masked whole where a constant mask has none.
Status drop_softmax_guards(Program& program, const NormaliseOptions& options);

// Afterwards no pure node is without users, and no body has an input that none of its node's bodies uses.
Status remove_dead_code(Program& program, const NormaliseOptions& options);

// Afterwards every parameter, buffer and constant of every method is used or stored to, and Program::data
// holds no others.
Status prune_constants(Program& program, const NormaliseOptions& options);

// All passes by name, for tests and --dump-after.
std::span<const Pass> all_passes();
std::span<const Pass> leftover_passes();  // of normalise_leftovers()

// Runs the passes in order; with options.verify a broken
// invariant is reported with the name of the pass that broke it.
Status run_passes(Program& program, std::span<const Pass> passes, const NormaliseOptions& options);

}  // namespace depute
