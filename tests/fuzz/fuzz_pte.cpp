// Any bytes as a .pte file: read and printed. Nothing may crash, and what is read must be safe to follow.
#include <cstdint>

#include "read/pte.h"
#include "report/show_pte.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto file = depute::read_pte(std::as_bytes(std::span(data, size)), "fuzz.pte");
  if (file) (void)depute::pte_text(*file);
  return 0;
}
