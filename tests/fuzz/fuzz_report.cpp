// Any bytes as a JSON report: nothing may crash, what is read writes a report that reads back as the same,
// differs in nothing from itself, and can be compared with another one.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "mutate_json.h"
#include "tools/diff/diff.h"
#include "tools/report/lowering_facts.h"

namespace {

depute::Result<depute::LoweringFacts> facts_of(std::span<const std::byte> bytes) {
  auto report = depute::read_report(bytes, "fuzz.json");
  if (!report) return depute::Failure(report.error());
  return depute::LoweringFacts{.name = "fuzz.json", .report = std::move(*report)};
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return depute::fuzz::mutate_json(data, size, max_size, seed, 0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)depute::is_json(std::as_bytes(std::span(data, size)));
  const auto facts = facts_of(std::as_bytes(std::span(data, size)));
  if (!facts) return 0;
  const std::string written = depute::report_json(*facts->report);
  const auto again = facts_of(std::as_bytes(std::span(written)));
  if (!again || !depute::compare(*facts, *again).is_same()) std::abort();
  const depute::LoweringDiff diff =
      depute::compare(depute::LoweringFacts{.name = "", .report = depute::Report()}, *facts);
  (void)depute::diff_text(diff);
  (void)depute::diff_json(diff);
  (void)depute::diff_html(diff);
  return 0;
}
