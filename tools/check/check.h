// Whether a .pte will load in a runtime: its kernels and backends against those that the runtime has.
//
//   TRY(const std::vector<RuntimeTable> known, known_runtimes());           // of ExecuTorch's wheels
//   const CheckResult result = check_program(pte, known[0]);
//   result.problems[0]   {method "forward", kind "kernel", name "shop::cut.out", count 3}
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/result.h"
#include "read/pte.h"

namespace depute {

struct RuntimeTable {
  std::string name;  // version, or file
  std::set<std::string, std::less<>> kernels;
  std::set<std::string, std::less<>> backends;
};

struct LoadProblem {
  std::string method;
  std::string kind;  // "kernel" or "backend"
  std::string name;
  std::uint64_t count = 0;  // instructions that need it
};

struct CheckResult {
  std::string runtime;
  std::vector<LoadProblem> problems;  // none: it loads
};

// Parses lines "kernel aten::add.out" and "backend XnnpackBackend"; "#" starts a comment. With a line "versions 1.4 1.5" the text
// describes several runtimes, and a line that ends in versions holds for these alone. `name` names the text, and its runtime if
// it is one.
Result<std::vector<RuntimeTable>> parse_runtimes(std::string_view text, const std::string& name);

// The runtimes in ExecuTorch's wheels.
Result<std::vector<RuntimeTable>> known_runtimes();

CheckResult check_program(const PteContents& program, const RuntimeTable& runtime);

std::string check_text(const std::string& program, const std::vector<CheckResult>& results, bool has_color);
std::string check_json(const std::string& program, const std::vector<CheckResult>& results);

}  // namespace depute
