// Reads a program, lowers it to the chip and writes it, all in memory. The bytes then go to the second file.
#include <depute/compiler.h>
#include <depute/program.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "chip.h"

namespace {

depute::Status run(const char* input, const char* output) {
  depute::Compiler compiler;
  DEPUTE_TRY_STATUS(compiler.add(chip_backend()));
  std::ifstream file(input, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(chars));
  DEPUTE_TRY(depute::Exported exported,
             compiler.load(std::vector<std::byte>(bytes.begin(), bytes.end()), input));
  DEPUTE_TRY(depute::Delegated lowered, compiler.lower(std::move(exported), {.backends = {{"chip"}}}));
  DEPUTE_TRY(const depute::Executable executable, depute::to_executorch(std::move(lowered)));
  DEPUTE_TRY(const depute::PteFile written, depute::write(executable));
  for (const depute::DelegateCall& call : depute::get_delegates(executable.program()))
    std::printf("%s\n", std::string(call.delegate->name.str()).c_str());
  std::ofstream(output, std::ios::binary)
      .write(reinterpret_cast<const char*>(written.pte.data()),
             static_cast<std::streamsize>(written.pte.size()));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  depute::Status done = run(argv[1], argv[2]);
  if (!done) std::fprintf(stderr, "%s\n", done.error().str().c_str());
  return done ? 0 : 1;
}
