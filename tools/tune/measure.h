// Runs a .pte as `depute run --json` does, in a process of its own, and reads its times.
//
//   const Meter meter({.command = {"depute-run", "run"}, .calls = {{"forward", {"x.npz"}}}});
//   TRY(const Turn turn, meter.run("model.pte", 20, 10s));        turn.ns == 4'210'000
//
// Any other command may run it, on another device for instance. It gets the same words: PROGRAM.pte --method NAME, --inputs FILE.npz for each
// call or --random, --repeat N, --threads N, --json. It prints an object like that of `depute run --json`, of which only the times are needed:
//
//   {"calls": [{"ns": [4210000, 4190000], "outputs": [{"mean": 0.1, "deviation": 1, "min": -2, "max": 3}]}]}
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "depute/program/result.h"

namespace depute {

// A method to execute: files with the inputs of its calls, or none for one call with random inputs.
struct MeasuredMethod {
  std::string name;  // of TuneOptions: empty for the only method, or forward
  std::vector<std::string> inputs;
};

struct MeterOptions {
  std::vector<std::string> command;  // the words before the program's path
  std::vector<MeasuredMethod> methods;
  int threads = 0;            // 0: as many as the runtime chooses
  bool is_traceable = false;  // the command has the option --etdump of `depute run`
};

// Statistics of an output. Two programs of one model differ in them by rounding alone.
struct OutputStatistics {
  std::uint64_t not_finite = 0;
  std::optional<double> mean, deviation, min, max;

  bool is_near(const OutputStatistics& other) const;
};

// One run of all methods.
struct Turn {
  std::uint64_t ns = 0;  // of all calls: median of the repetitions after the first, summed over methods
  std::vector<OutputStatistics> outputs;
  std::chrono::milliseconds process{};  // of all processes, with loading
};

class Meter {
 public:
  explicit Meter(MeterOptions options) : options_(std::move(options)) {}

  // Makes all calls 1 + `repeat` times. Fails if the command fails, takes longer than `limit`, or prints something else.
  Result<Turn> run(const std::string& program, std::uint64_t repeat, std::chrono::milliseconds limit) const;

  // Makes all calls likewise, and returns the ETDump of each method, in a file of this folder.
  Result<std::vector<std::string>> trace(const std::string& program, std::uint64_t repeat,
                                         std::chrono::milliseconds limit, const std::string& folder) const;

 private:
  std::vector<std::string> words(const std::string& program, const MeasuredMethod& method,
                                 std::uint64_t repeat) const;

  MeterOptions options_;
};

}  // namespace depute
