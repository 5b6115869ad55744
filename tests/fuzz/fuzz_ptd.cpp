// Any bytes as a .ptd file: nothing may crash, what is read lies in the file and can be printed.
#include <cstdint>
#include <cstdlib>

#include "mutate_words.h"
#include "read/ptd.h"
#include "tools/show/show_pte.h"

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return depute::fuzz::mutate_words(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = depute::read_ptd(std::as_bytes(std::span(data, size)), "fuzz.ptd");
  if (!file) return 0;
  for (const depute::PtdData& each : file->data) {
    if (each.offset > size || each.size > size - each.offset) std::abort();
  }
  (void)depute::ptd_text(*file);
  return 0;
}
