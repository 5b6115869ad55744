// Lists the passes of normalization in order. Each is a function in a file of its name, with its
// postcondition above it. To add a pass, add a file and a line here.
#pragma once

#include <span>
#include <string_view>

#include "depute/compiler/normalize.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

// clang-format off

// Dead code is removed early, so that unused nodes are not refused, and again after folding. Mutation is
// undone while the traced strides still show which tensors share memory; only then are layouts dropped. Types
// are promoted after decomposition, which creates ops that promote. Batches of torch.vmap are unfolded when
// types are explicit and few ops are left, so that an extra dimension changes neither. Noops are removed
// before folding, so that folding reaches constants behind them and computes masks that later passes read.
// Positions are simplified before folding and merging, which they leave constants and repeated ranges to.
// Repeated calls are merged once their forms are final, and before each becomes a separate constant.
#define DEPUTE_PASSES(pass)                           \
  pass("inline-wrappers", inline_wrappers)            \
  pass("drop-tokens", drop_tokens)                    \
  pass("split-bodies", split_bodies)                  \
  pass("unify-choice-sizes", unify_choice_sizes)      \
  pass("simplify-sizes", simplify_sizes)              \
  pass("drop-assertions", drop_assertions)            \
  pass("functionalize", functionalize)                \
  pass("remove-dead-code", remove_dead_code)          \
  pass("read-constant-sizes", read_constant_sizes)    \
  pass("drop-layouts", drop_layouts)                  \
  pass("split-complex", split_complex)                \
  pass("decompose", decompose)                        \
  pass("promote-types", promote_types)                \
  pass("unfold-batches", unfold_batches)              \
  pass("remove-noops", remove_noops)                  \
  pass("split-joined-batches", split_joined_batches)  \
  pass("simplify-positions", simplify_positions)      \
  pass("merge-equal-buffers", merge_equal_buffers)    \
  pass("merge-repeated-calls", merge_repeated_calls)  \
  pass("fold-constants", fold_constants)              \
  pass("drop-softmax-guards", drop_softmax_guards)    \
  pass("remove-dead-code-again", remove_dead_code)    \
  pass("prune-constants", prune_constants)            \
  pass("write-edge-forms", write_edge_forms)

// Passes of normalize_undelegated(), for undelegated nodes. The program may come from outside, with bodies that
// several nodes share. Kernel forms are chosen once types are explicit; they may contain ops that decompose
// and promote.
#define DEPUTE_UNDELEGATED_PASSES(pass)                \
  pass("split-undelegated-bodies", split_bodies)       \
  pass("decompose-undelegated", decompose)             \
  pass("promote-undelegated", promote_types)           \
  pass("fit-kernels", fit_kernels)                     \
  pass("decompose-fitted", decompose)                  \
  pass("promote-fitted", promote_types)                \
  pass("remove-undelegated-noops", remove_noops)       \
  pass("merge-undelegated", merge_repeated_calls)      \
  pass("fold-undelegated", fold_constants)             \
  pass("remove-dead-undelegated", remove_dead_code)    \
  pass("prune-undelegated-constants", prune_constants)

// clang-format on

namespace depute {

#define DEPUTE_DECLARE(name, function) Status function(Program& program, const NormalizeOptions& options);
DEPUTE_PASSES(DEPUTE_DECLARE)
DEPUTE_UNDELEGATED_PASSES(DEPUTE_DECLARE)
#undef DEPUTE_DECLARE

struct Pass {
  std::string_view name;  // name for --dump-after: "fold-constants"
  Status (*run)(Program& program, const NormalizeOptions& options);
};

std::span<const Pass> all_passes();
std::span<const Pass> undelegated_passes();

// Calls `observe`, if there is one.
Status report_step(const ObserveStep& observe, std::string_view step, const Program& program);

// Runs the passes in order; with options.verify a broken invariant is reported with the name of the pass that
// broke it.
Status run_passes(Program& program, std::span<const Pass> passes, const NormalizeOptions& options);

}  // namespace depute
