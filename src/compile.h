// The compiler as one call: a .pt2 (or .ir) file in, a .pte file and a report out.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/constant_method.h"
#include "ir/program.h"
#include "lower/registry.h"
#include "report/report.h"
#include "report/requirement.h"
#include "support/result.h"
#include "write/write_pte.h"

namespace depute {

struct BackendRequest {
  std::string name;  // as registered: "xnnpack"
  BackendOptions options;
};

struct CompileOptions {
  std::string input;  // .pt2 or .ir; may be empty when methods are given
  std::vector<std::pair<std::string, std::string>> methods;  // further methods: name, file
  std::vector<ConstantMethod> constants;  // added when the program is lowered: no backend sees them
  std::vector<BackendRequest> backends;   // asked in this order
  bool plan_together = false;             // all backends in one pass, instead of one after another
  std::vector<Requirement> requirements;  // not met: nothing is written
  std::string output;  // .pte; empty: no program is written, and the report tells what would be refused
  std::string ptd;     // .ptd file for constants and delegates' data; empty: they stay in the output
  std::vector<std::string> reports;  // files; .html is a page, anything else JSON
  std::string debug_map;             // JSON file: from instructions of the output to the model's lines
  WriteOptions write;                // how the output is laid out; its jobs and ptd are those given here
  int jobs = 1;
  bool verify_each_pass = false;
  // Called with each step's and pass's name and the program it gave.
  std::function<void(std::string_view step, const Program& program)> observe;
};

struct Compiled {
  Program program;  // normalised and lowered
  Report report;
  std::vector<std::string> unmet;  // requirements that do not hold; then no file was written
};

// All files are checked before any work (none is an input or another one, each can be written), and appear
// together at the end: output_set.h. A failure leaves none behind, and existing ones as they were. "-" is
// standard input, or standard output.
Result<Compiled> compile(const CompileOptions& options, const Registry& registry);

// The names that `observe` is called with, in order.
std::vector<std::string_view> step_names();

// The name of the compiler in its output and in `depute --version`.
std::string version();

}  // namespace depute
