// Runs the passes of passes.h over programs.
#include "depute/compiler/normalize.h"

#include "depute/program/program.h"
#include "ir/program_names.h"
#include "normalize/passes.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

#define DEPUTE_ROW(name, function) Pass{name, function},
constexpr Pass normal_passes[] = {DEPUTE_PASSES(DEPUTE_ROW)};
constexpr Pass undelegated_pass_list[] = {DEPUTE_UNDELEGATED_PASSES(DEPUTE_ROW)};
#undef DEPUTE_ROW

Result<Program> run_guarded(Program& program, std::span<const Pass> steps, const NormalizeOptions& options) {
  return guarded([&]() -> Result<Program> {
    const NameScope::Use use(names_to_edit(program));
    TRY_STATUS(verify_input(program));
    TRY_STATUS(run_passes(program, steps, options));
    return std::move(program);
  });
}

}  // namespace

std::span<const Pass> all_passes() {
  return normal_passes;
}

std::span<const Pass> undelegated_passes() {
  return undelegated_pass_list;
}

Result<Program> normalize(Program program, const NormalizeOptions& options) {
  return run_guarded(program, normal_passes, options);
}

Result<Program> normalize_undelegated(Program program, const NormalizeOptions& options) {
  return run_guarded(program, undelegated_pass_list, options);
}

}  // namespace depute
