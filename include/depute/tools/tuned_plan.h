// Plans that `depute tune` found: a way to delegate a program, and what was measured. `depute lower --plan FILE` applies one.
//
//   {"version": 1, "backends": ["xnnpack:min_nodes=4"], "together": false}
//
//   DEPUTE_TRY(TunedPlan plan, read_tuned_plan("plan.json"));
//   DEPUTE_TRY(BackendRequest request, parse_backend_argument(plan.backends[0]));
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "depute/api.h"
#include "depute/program/result.h"

namespace depute {

// A plan that was tried.
struct TunedTrial {
  std::vector<std::string> backends = {};  // as in TunedPlan
  bool together = false;
  std::string program = {};            // SHA-256 of the .pte; empty: it does not lower
  std::vector<std::uint64_t> ns = {};  // of each turn: median of the time of all calls, in nanoseconds
  std::string left_out = {};           // why it cannot be chosen; empty: it can
};

// Nodes that a backend took together, and how long they took in each backend and in kernels.
struct TunedRegion {
  std::string lines = {};  // "model.py:12, 14"
  std::string module = {};
  std::map<std::string, std::uint64_t> ns = {};  // of one run, by backend id; "kernels"
};

// The content of the file. The first three members decide what `lower` does.
struct TunedPlan {
  std::int64_t version = 1;
  std::vector<std::string> backends = {};  // arguments of --backend, in order
  bool together = false;                   // --together
  std::string model = {};                  // what was measured, and how
  std::string runner = {};
  std::uint64_t threads = 0;  // 0: as many as the runtime chose
  std::vector<std::string> inputs = {};
  std::uint64_t ns = 0;         // of all calls by this plan
  std::uint64_t static_ns = 0;  // by the fastest plan that needs no measurement
  std::vector<TunedTrial> tried = {};
  std::vector<TunedRegion> regions = {};  // if the runs were traced, the slowest first
};

DEPUTE_API std::string tuned_plan_json(const TunedPlan& plan);

// Fails for a file that is no plan, or one of another version.
DEPUTE_API Result<TunedPlan> read_tuned_plan(const std::string& path);

}  // namespace depute
