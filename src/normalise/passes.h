// The passes of normalisation, in their order. Each is one function in a file of its name; what is true
// afterwards stands above it there. A new pass is a file and a line here.
#pragma once

#include <span>
#include <string_view>

#include "depute/normalise.h"
#include "depute/program.h"
#include "depute/result.h"

// clang-format off

// Dead code goes early, so that what nobody needs is not refused, and again after folding. Mutation is undone
// while the traced strides still tell what shares memory; only then are layouts dropped. Types are promoted
// after decomposition, which makes ops that promote. Batches of torch.vmap are unfolded when types are explicit and
// ops few, so that a dimension more changes neither. Noops are removed before folding, which then meets
// constants through them and makes masks that can be looked at. Repeated calls are merged when
// their forms are settled, and before each becomes a constant of its own.
#define DEPUTE_PASSES(pass)                           \
  pass("inline-wrappers", inline_wrappers)            \
  pass("split-bodies", split_bodies)                  \
  pass("unify-choice-sizes", unify_choice_sizes)      \
  pass("simplify-sizes", simplify_sizes)              \
  pass("drop-assertions", drop_assertions)            \
  pass("functionalise", functionalise)                \
  pass("remove-dead-code", remove_dead_code)          \
  pass("read-constant-sizes", read_constant_sizes)    \
  pass("drop-layouts", drop_layouts)                  \
  pass("split-complex", split_complex)                \
  pass("decompose", decompose)                        \
  pass("promote-types", promote_types)                \
  pass("unfold-batches", unfold_batches)              \
  pass("remove-noops", remove_noops)                  \
  pass("merge-equal-buffers", merge_equal_buffers)    \
  pass("merge-repeated-calls", merge_repeated_calls)  \
  pass("fold-constants", fold_constants)              \
  pass("drop-softmax-guards", drop_softmax_guards)    \
  pass("remove-dead-code-again", remove_dead_code)    \
  pass("prune-constants", prune_constants)            \
  pass("write-edge-forms", write_edge_forms)

// Of normalise_leftovers(): what no backend took. It may come from outside, with bodies that several nodes
// have. Forms that kernels take are found when types are explicit, and may be made of ops that decompose and
// promote.
#define DEPUTE_LEFTOVER_PASSES(pass)                  \
  pass("split-leftover-bodies", split_bodies)         \
  pass("decompose-leftovers", decompose)              \
  pass("promote-leftovers", promote_types)            \
  pass("fit-kernels", fit_kernels)                    \
  pass("decompose-fitted", decompose)                 \
  pass("promote-fitted", promote_types)               \
  pass("remove-leftover-noops", remove_noops)         \
  pass("merge-leftovers", merge_repeated_calls)       \
  pass("fold-leftovers", fold_constants)              \
  pass("remove-dead-leftovers", remove_dead_code)     \
  pass("prune-leftover-constants", prune_constants)

// clang-format on

namespace depute {

#define DEPUTE_DECLARE(name, function) Status function(Program& program, const NormaliseOptions& options);
DEPUTE_PASSES(DEPUTE_DECLARE)
DEPUTE_LEFTOVER_PASSES(DEPUTE_DECLARE)
#undef DEPUTE_DECLARE

struct Pass {
  std::string_view name;  // as in --dump-after: "fold-constants"
  Status (*run)(Program& program, const NormaliseOptions& options);
};

std::span<const Pass> all_passes();
std::span<const Pass> leftover_passes();

// Calls `observe`, if there is one.
Status tell_step(const ObserveStep& observe, std::string_view step, const Program& program);

// Runs the passes in order; with options.verify a broken invariant is reported with the name of the pass that
// broke it.
Status run_passes(Program& program, std::span<const Pass> passes, const NormaliseOptions& options);

}  // namespace depute
