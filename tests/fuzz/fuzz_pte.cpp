// Any bytes as a .pte, .bpte or .ptd file: read, printed and counted, payloads of delegates too. Nothing may crash,
// what is read must be safe to follow, and a ledger has each byte once.
#include <cstdint>
#include <cstdlib>

#include "depute/backend/registry.h"
#include "depute/tools/bundle.h"
#include "depute/tools/byte_ledger.h"
#include "mutate_words.h"
#include "read/pte.h"
#include "tools/bundle/bundle_text.h"
#include "tools/show/show_pte.h"

namespace {

void check_ledger(std::span<const std::byte> bytes, const depute::Registry& registry) {
  auto ledger = depute::byte_ledger(bytes, "fuzz.pte", registry);
  if (!ledger) return;
  std::uint64_t end = 0;
  for (const depute::LedgerEntry& entry : ledger->entries) {
    if (entry.offset != end || entry.bytes == 0) std::abort();
    end += entry.bytes;
  }
  if (end != bytes.size()) std::abort();
  (void)depute::ledger_text(*ledger, 3);
  (void)depute::ledger_json(*ledger);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return depute::fuzz::mutate_words(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const depute::Registry registry = depute::make_registry();
  const auto bytes = std::as_bytes(std::span(data, size));
  auto file = depute::read_pte(bytes, "fuzz.pte");
  if (file) (void)depute::pte_text(*file, bytes, registry);
  if (auto bundle = depute::read_bundle(bytes, "fuzz.bpte")) (void)depute::bundle_text(*bundle, size);
  check_ledger(bytes, registry);
  return 0;
}
