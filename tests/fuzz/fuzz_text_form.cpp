// The text form's parser on any bytes: it refuses them with a place, or gives a program that prints, reads
// back equal, and prints the same text again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "depute/program/program.h"
#include "depute/program/text.h"
#include "ir/verify.h"

namespace {

using namespace depute;

void fail(std::string_view what, std::string_view text) {
  std::cerr << what << "\n" << text << "\n";
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find("file") != std::string_view::npos) return 0;  // would open files of this machine
  auto program = parse_program(text);
  if (!program) return 0;
  verify(*program);
  PrintOptions options = {.max_inline_bytes = 64, .originals = true, .sources = true};
  std::string printed = print(*program, options);
  auto again = parse_program(printed);
  if (!again) fail(again.error().str(), printed);
  if (auto difference = first_difference(*program, *again)) fail(*difference, printed);
  if (structural_hash(*program) != structural_hash(*again)) fail("the hashes differ", printed);
  if (print(*again, options) != printed) fail("the second print differs from this first one", printed);
  return 0;
}
