// Any bytes as a .pte file: read and printed, payloads of delegates too. Nothing may crash, and what is read
// must be safe to follow.
#include <cstdint>

#include "depute/registry.h"
#include "read/pte.h"
#include "report/show_pte.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const depute::Registry registry = depute::make_registry();
  const auto bytes = std::as_bytes(std::span(data, size));
  auto file = depute::read_pte(bytes, "fuzz.pte");
  if (file) (void)depute::pte_text(*file, bytes, registry);
  return 0;
}
