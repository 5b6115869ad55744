// What is compiled, for which backends and how: the options that `lower` and `explain` have in common, read
// in one place, so that both give the same answers.
#pragma once

#include <string>
#include <vector>

#include "compile.h"
#include "support/result.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace depute {

// As the user wrote them.
struct RequestArguments {
  std::string model;
  std::vector<std::string> backends;
  std::vector<std::string> methods;
  std::vector<std::string> constants;
  std::vector<std::string> reports;
  std::string dump_after;
  int jobs = 0;
  bool together = false;
  bool verify = false;
};

// For options whose empty value can only come from an empty variable of a script.
const CLI::Validator& not_empty();

void add_request_options(CLI::App& app, RequestArguments& arguments);

// All that can be wrong with the arguments themselves is refused here, with the code "usage".
Result<CompileOptions> read_request(const RequestArguments& arguments);

// Compiles, and prints the program after the step that was asked for.
Result<Compiled> run_request(const RequestArguments& arguments, CompileOptions options,
                             const Registry& registry);

// An output goes to standard output, which leaves standard error for what is printed.
bool writes_standard_output(const CompileOptions& options);

}  // namespace depute
