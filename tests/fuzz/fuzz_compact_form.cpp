// The compact form's reader on any bytes: it refuses them, or gives a program that is read back equal from
// both its compact and its text form.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "depute/program/program.h"
#include "ir/text/compact.h"
#include "ir/verify.h"

namespace {

using namespace depute;

void check_same(const Program& program, const Result<Program>& again, std::string_view printed) {
  const auto difference = again ? first_difference(program, *again) : again.error().str();
  if (!difference) return;
  std::cerr << *difference << "\n" << printed << "\n";
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find("file") != std::string_view::npos) return 0;  // would open files of this machine
  const auto program = parse_compact(std::as_bytes(std::span(text)));
  if (!program) return 0;
  verify(*program);
  const PrintOptions options = {.max_inline_bytes = 64, .originals = true, .sources = true};
  const std::string compact = print_compact(*program, options);
  check_same(*program, parse_compact(std::as_bytes(std::span(compact))), compact);
  const std::string printed = print(*program, options);
  check_same(*program, parse_program(printed), printed);
  return 0;
}
