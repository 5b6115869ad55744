// The options that `lower` and `explain` share: inputs, backends and settings. They are parsed in one place,
// so that both commands give the same results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "depute/compiler/compile.h"
#include "depute/program/result.h"

namespace depute {

// The options as the user wrote them.
struct RequestArguments {
  std::string model;
  std::vector<std::string> backends;
  std::string plan;  // a file that replaces `backends` and `together`
  std::vector<std::string> targets;
  std::vector<std::string> recipes;
  std::vector<std::string> methods;
  std::vector<std::string> constants;
  std::vector<std::string> bounds;
  std::vector<std::string> kernels;
  std::vector<std::string> quantize;
  std::vector<std::string> calibrate;
  std::vector<std::string> integer_io;
  std::vector<std::string> taps;
  std::vector<std::string> reports;
  std::string cache;
  std::string cache_size;
  std::string dump_after;
  int jobs = 0;
  int worker_time = 0;   // seconds; 0: default
  int worker_space = 0;  // MiB; 0: default
  bool no_sandbox = false;
  bool together = false;
  bool verify = false;
};

// lowering_options() are the options that affect lowering. request_options() adds inputs and reports.
std::vector<Option> lowering_options(RequestArguments& arguments);
std::vector<Option> request_options(RequestArguments& arguments);
Option plan_option(RequestArguments& arguments);
Option target_option(RequestArguments& arguments);

// Checks everything that can be wrong with the arguments themselves; such errors have the code "usage".
Result<CompileOptions> read_request(const RequestArguments& arguments);
// The targets, in the order in which they are named. Plans that they name become options.read_before.
Result<std::vector<Target>> read_targets(const RequestArguments& arguments, CompileOptions& options);

// Adds recipes to the options, and the named kernels and workers to the compiler.
Status prepare_request(const RequestArguments& arguments, CompileOptions& options, Compiler& compiler);

// Prepares the request, compiles, and prints the program after the requested step.
Result<Compiled> run_request(const RequestArguments& arguments, CompileOptions options, Compiler& compiler);
// Likewise for each target.
Result<std::vector<Compiled>> run_request(const RequestArguments& arguments, CompileOptions options,
                                          std::vector<Target> targets, Compiler& compiler);

// True if the partitioning matches the lock `lock`. Otherwise prints the differences to standard error.
bool holds_lock(const Report& report, const std::string& lock, std::string_view hint);

}  // namespace depute
