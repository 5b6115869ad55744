// Runs other programs to their end.
//
//   const ProgramLimits limits = {.time = 10s, .max_file_bytes = 1 << 20};
//   TRY(const Ended curl, run_program({"curl", "--config", "-"}, config, limits));
//   if (curl.code != 0) return failure("cache", url, curl.output);
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/result.h"

namespace depute {

struct ProgramLimits {
  std::chrono::milliseconds time;  // the program is killed after it
  std::uint64_t
      max_file_bytes;  // the program is killed by file_limit_signal when a file becomes larger, a moment
                       // after it has started
};

// A program that has ended.
struct Ended {
  int code = -1;       // its exit code; 128 + the number of the signal that killed it
  std::string output;  // its standard output and error; what exceeds 64 KiB is left out
};

// Runs a program to its end, in our environment. `input`, at most 64 KiB, is its standard input. A signal that
// ends this process ends the program, too.
Result<Ended> run_program(const std::vector<std::string>& words, std::string_view input,
                          const ProgramLimits& limits);

}  // namespace depute
