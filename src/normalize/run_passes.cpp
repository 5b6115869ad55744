// Runs passes, dumps their results, and verifies them.
#include <fmt/format.h>

#include "ir/verify.h"
#include "normalize/passes.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

// Returns a number that changes whenever a graph is edited.
std::uint64_t total_revision(const Program& program) {
  std::uint64_t total = 0;
  for (const auto& method : program.methods) {
    total += method->graph->revision() + method->bodies.size();
    for (const auto& body : method->bodies) total += body->revision();
  }
  return total + program.data.size();
}

}  // namespace

Status report_step(const ObserveStep& observe, std::string_view step, const Program& program) {
  if (!observe) return {};
  return call_foreign("callback", "observe", [&] { observe(step, program); });
}

Status run_passes(Program& program, std::span<const Pass> passes, const NormalizeOptions& options) {
  for (const Pass& pass : passes) {
    std::uint64_t before = total_revision(program);
    if (Status done = pass.run(program, options); !done) {
      done.error().code = pass.name;
      return done;
    }
    if (options.verify && total_revision(program) != before) {
      if (auto violations = verify(program); !violations.empty()) {
        Diagnostic& first = violations.front();
        return failure(pass.name, first.where,
                       fmt::format("the program is invalid after this pass: {}", first.message));
      }
    }
    TRY_STATUS(report_step(options.observe, pass.name, program));
  }
  return {};
}

}  // namespace depute
