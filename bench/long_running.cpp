// Lowers different models in one process, with XNNPACK and without, as a server does, and prints after each
// thousand how much memory the process has and how many names it knows. Neither grows.
//
//   long_running [MODELS]
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "depute/compiler/compiler.h"
#include "depute/tools/report.h"
#include "ir/sym/sym_internal.h"
#include "support/names/interned.h"
#include "support/try.h"
#include "tests/unit/compile/numbered_model.h"

namespace depute {
namespace {

std::string resident_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return line.substr(line.find_first_of("0123456789"));
  }
  return "unknown";
}

Status lower_numbered(const Compiler& compiler, int number) {
  const std::string text = numbered_model(number);
  TRY(Exported exported, compiler.load(std::as_bytes(std::span(text)), nullptr));
  LowerOptions options;
  if (number % 2 == 0) options.backends = {{"xnnpack"}};
  TRY(Delegated delegated, compiler.lower(std::move(exported), options));
  TRY(const Executable executable, to_executorch(std::move(delegated)));
  TRY(const PteFile file, write(executable));
  report_json(make_report(executable));
  return {};
}

int lower_all(int models) {
  const Compiler compiler;
  for (int number = 1; number <= models; ++number) {
    if (const Status lowered = lower_numbered(compiler, number); !lowered) {
      fmt::print(stderr, "{}\n", lowered.error().str());
      return 1;
    }
    if (number % 1000 != 0) continue;
    fmt::print("{} models: {} resident, {} names, {} expressions\n", number, resident_memory(), count_names(),
               sym::count_expressions());
  }
  return 0;
}

}  // namespace
}  // namespace depute

int main(int argc, char** argv) {
  return depute::lower_all(argc > 1 ? std::atoi(argv[1]) : 10'000);
}
