// Runs a program of Arm as a child process to its end, which must be a success.
//
//   TRY(const std::string output, run_tool({.backend = "vgf", .program = path}, {"-i", input}));
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/result.h"

namespace depute::tosa {

struct ToolRun {
  std::string_view backend;  // code of errors
  std::string program;       // a path
  std::chrono::milliseconds time_limit = std::chrono::minutes(10);
  std::uint64_t max_file_bytes = std::numeric_limits<std::uint64_t>::max();
  // True for lines that the program writes on every run, which errors leave out.
  bool (*is_chatter)(std::string_view line) = nullptr;
};

// Returns the program's output. Fails if it does not end in time, ends with an error, or writes a larger file; the output
// is in the details.
Result<std::string> run_tool(const ToolRun& run, std::vector<std::string> options);
// An error of the program, with its output.
Failure tool_failure(const ToolRun& run, std::string message, std::string_view output);

}  // namespace depute::tosa
