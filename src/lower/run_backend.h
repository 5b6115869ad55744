// Calls a backend for its partitions and checks the results.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "depute/backend.h"
#include "depute/lowering_error.h"
#include "lower/carve.h"
#include "lower/result_cache.h"

namespace depute {

// One partition, and its result after the backend's call.
struct BackendJob {
  Symbol method;
  const CarvedPartition* partition;
  PreprocessResult result;
};

struct RunBackendOptions {
  int jobs = 1;
  bool check_determinism = false;  // if true, the cache is not read
  ResultCache* cache = nullptr;
};

// The partition's first node, its tag and the user's line.
LoweringPlace partition_place(std::string_view method, const Partition& partition, std::string_view backend);

// Makes one preprocess_multimethod() call for all jobs, which have this backend and are in method order, and
// fills their results. Rejects exceptions, missing or malformed results, and changes to the program.
Status run_backend(const Backend& backend, std::span<BackendJob* const> jobs,
                   const RunBackendOptions& options);

}  // namespace depute
