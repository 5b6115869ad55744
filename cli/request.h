// What is compiled, for which backends and how: the options that `lower` and `explain` have in common, read
// in one place, so that both give the same answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "depute/compiler.h"
#include "depute/result.h"

namespace depute {

// As the user wrote them.
struct RequestArguments {
  std::string model;
  std::vector<std::string> backends;
  std::vector<std::string> methods;
  std::vector<std::string> constants;
  std::vector<std::string> bounds;
  std::vector<std::string> kernels;
  std::vector<std::string> quantise;
  std::vector<std::string> calibrate;
  std::vector<std::string> reports;
  std::string cache;
  std::string cache_size;
  std::string dump_after;
  int jobs = 0;
  int worker_time = 0;   // seconds; 0: not said
  int worker_space = 0;  // MiB; 0: not said
  bool together = false;
  bool verify = false;
};

// Those that say how a program is lowered, and all: what is compiled, and what is told of it, too.
std::vector<Option> lowering_options(RequestArguments& arguments);
std::vector<Option> request_options(RequestArguments& arguments);

// All that can be wrong with the arguments themselves is refused here, with the code "usage".
Result<CompileOptions> read_request(const RequestArguments& arguments);

// Gives the compiler the kernels that were named, compiles, and prints the program after the step that was
// asked for.
Result<Compiled> run_request(const RequestArguments& arguments, CompileOptions options, Compiler& compiler);

// Whether the plan is as the lock of that name says; on standard error what is not, with the hint.
bool holds_lock(const Report& report, const std::string& lock, std::string_view hint);

// An output goes to standard output, which leaves standard error for what is printed.
bool writes_standard_output(const CompileOptions& options);

}  // namespace depute
