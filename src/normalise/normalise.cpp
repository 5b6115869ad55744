// The order of the passes, and why.
#include "depute/normalise.h"

#include <array>

#include "depute/verify_input.h"
#include "normalise/fold_constants.h"
#include "normalise/passes.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

Status run_fold_constants(Program& program, const NormaliseOptions&) {
  return fold_constants(program);
}

// Dead code goes early, so that what nobody needs is not refused, and again after folding. Mutation is undone
// while the traced strides still tell what shares memory; only then are layouts dropped. Types are promoted
// after decomposition, which makes ops that promote. Noops are removed before folding, which then meets
// constants through them and makes masks that can be looked at.
constexpr std::array<Pass, 12> pipeline = {{
    {"inline-wrappers", inline_wrappers},
    {"drop-assertions", drop_assertions},
    {"functionalise", functionalise},
    {"remove-dead-code", remove_dead_code},
    {"drop-layouts", drop_layouts},
    {"decompose", decompose},
    {"promote-types", promote_types},
    {"remove-noops", remove_noops},
    {"fold-constants", run_fold_constants},
    {"drop-softmax-guards", drop_softmax_guards},
    {"remove-dead-code-again", remove_dead_code},
    {"prune-constants", prune_constants},
}};

constexpr std::array<Pass, 6> leftover_pipeline = {{
    {"decompose-leftovers", decompose},
    {"promote-leftovers", promote_types},
    {"remove-leftover-noops", remove_noops},
    {"fold-leftovers", run_fold_constants},
    {"remove-dead-leftovers", remove_dead_code},
    {"prune-leftover-constants", prune_constants},
}};

Result<Program> run_guarded(Program& program, std::span<const Pass> passes, const NormaliseOptions& options) {
  return guarded([&]() -> Result<Program> {
    if (!options.verified) TRY_STATUS(verify_input(program));
    TRY_STATUS(run_passes(program, passes, options));
    return std::move(program);
  });
}

}  // namespace

std::span<const Pass> all_passes() {
  return pipeline;
}

std::span<const Pass> leftover_passes() {
  return leftover_pipeline;
}

Result<Program> normalise(Program program, const NormaliseOptions& options) {
  return run_guarded(program, pipeline, options);
}

Result<Program> normalise_leftovers(Program program, const NormaliseOptions& options) {
  return run_guarded(program, leftover_pipeline, options);
}

}  // namespace depute
