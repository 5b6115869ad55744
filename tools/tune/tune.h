// `depute tune`: finds the plan of a program that runs fastest, by running candidates.
//
//   TRY(const Tuned tuned, tune(compiler, exported, asked, options));
//   tuned.best.text()                  --backend xnnpack:min_nodes=4
//
// A search has three steps. It measures the plans that need no measurement (backends alone, together, in each order), then changes the fastest one option
// by option and keeps what is faster, until no change is or the time is over. At the end it compares its result with the fastest of the first
// step once more, so that it never returns a slower one. Two plans are compared in turns, because a machine is not equally fast all the
// time: a change is kept if it is faster in nearly all of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "depute/compiler/compiler.h"
#include "depute/program/result.h"
#include "depute/tools/tuned_plan.h"
#include "tools/tune/delegation_plan.h"
#include "tools/tune/measure.h"
#include "tools/tune/recorded_times.h"

namespace depute {

struct TuneProgress {
  std::size_t measured = 0;  // plans
  std::uint64_t ns = 0;      // of the fastest plan so far
  double gain = 1;           // how many times it is faster than the fastest static plan
};

struct TuneOptions {
  LowerOptions lower = {};  // without backends and rules of quantization
  WriteOptions write = {};
  MeterOptions meter = {};  // `methods` may be empty: all methods that compute
  // If given, nothing is run: the times of plans are put together from these.
  std::optional<RecordedTimes> recorded = {};
  std::chrono::milliseconds budget{};
  std::function<void(const TuneProgress&)> progress = {};
  std::function<bool()> is_stopped = {};  // true: return the best plan so far
};

struct Tuned {
  DelegationPlan best;
  DelegationPlan best_static;
  std::uint64_t ns = 0;
  std::uint64_t static_ns = 0;
  std::vector<TunedTrial> trials;    // in the order in which they were tried
  std::vector<TunedRegion> regions;  // the slowest first; empty if nothing was traced
  bool is_complete = false;          // no change was left to try
};

// Fails if no plan lowers or none can be run; the error has the reason of each.
Result<Tuned> tune(const Compiler& compiler, const Exported& exported, const DelegationPlan& asked,
                   const TuneOptions& options);

// The plans by time, the fastest first, at most `top` (0: all), and those that were left out.
std::string tune_text(const Tuned& tuned, std::size_t top, bool has_color);

}  // namespace depute
