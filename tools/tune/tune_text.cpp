#include <fmt/format.h>

#include <algorithm>

#include "support/number_text.h"
#include "tools/document/document.h"
#include "tools/tune/tune.h"

namespace depute {
namespace {

double milliseconds_of(std::uint64_t ns) {
  constexpr double ns_per_millisecond = 1e6;
  return static_cast<double>(ns) / ns_per_millisecond;
}

std::uint64_t least_ns(const TunedTrial& trial) {
  return trial.ns.empty() ? 0 : *std::ranges::min_element(trial.ns);
}

doc::Row row_of(const TunedTrial& trial, std::uint64_t best) {
  const std::uint64_t ns = least_ns(trial);
  return {.cells = {{fmt::format("{:.3f}", milliseconds_of(ns))},
                    {fmt::format("{:.2f}", static_cast<double>(ns) / static_cast<double>(best))},
                    {doc::code(DelegationPlan::plan_text(trial.backends, trial.together))}}};
}

}  // namespace

std::string tune_text(const Tuned& tuned, std::size_t top, bool has_color) {
  std::vector<TunedTrial> measured;
  std::vector<TunedTrial> left_out;
  for (const TunedTrial& trial : tuned.trials)
    (trial.left_out.empty() && !trial.ns.empty() ? measured : left_out).push_back(trial);
  std::ranges::stable_sort(measured, {}, least_ns);
  doc::Document document;
  document.print("Fastest: {:.3f} ms, {}", milliseconds_of(tuned.ns), tuned.best.text());
  document.print("Without measuring: {:.3f} ms, {}", milliseconds_of(tuned.static_ns),
                 tuned.best_static.text());
  if (!tuned.is_complete)
    document.print("There was no time to try every change; a larger --budget may find a faster plan");
  document.add(doc::Table{
      .title = "Measured plans",
      .columns = {doc::number("ms"), doc::number("x"), {.name = "Plan"}},
      .rows = doc::rows_of(measured, [&](const TunedTrial& trial) { return row_of(trial, tuned.ns); }),
      .has_names = true});
  document.add(doc::Table{
      .title = "Left out",
      .columns = {{.name = "Plan"}, {.name = "Reason"}},
      .rows = doc::rows_of(left_out, [](const TunedTrial& trial) {
        return doc::Row{.cells = {{doc::code(DelegationPlan::plan_text(trial.backends, trial.together))},
                                  {trial.left_out}}};
      })});
  return render_text(document, {.top = top, .has_color = has_color});
}

}  // namespace depute
