// Any bytes as an ETDump, without a debug map: nothing may crash, what is read can be printed in each form,
// and the tables of a method sum to its time.
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "depute/tools/profile.h"
#include "mutate_words.h"

namespace {

std::uint64_t sum_of(const std::vector<depute::ProfileRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const depute::ProfileRow& row) { return sum + row.ticks; });
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return depute::fuzz::mutate_words(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto profile =
      depute::profile_of({.dump = std::as_bytes(std::span(data, size)), .dump_name = "fuzz.etdp"});
  if (!profile) return 0;
  for (const depute::MethodProfile& method : profile->methods) {
    std::uint64_t inside = 0;
    for (const depute::ProfiledInstruction& each : method.instructions) inside += each.ticks;
    if (inside > method.ticks) continue;  // the dump's own times do not fit
    if (sum_of(method.by_line) != method.ticks || sum_of(method.by_kernel) != method.ticks) std::abort();
  }
  (void)depute::profile_text(*profile, 3);
  (void)depute::profile_json(*profile);
  (void)depute::profile_html(*profile);
  return 0;
}
