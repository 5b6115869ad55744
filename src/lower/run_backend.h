// Calls a backend for its partitions and checks the results.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "depute/backend/backend.h"
#include "lower/cache/result_cache.h"
#include "lower/carve.h"
#include "lower/lowering_error.h"

namespace depute {

// One partition, and its result after the backend's call.
struct BackendJob {
  Name method;
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

// One preprocess_multimethod over all jobs, which have this backend (of a registry) and are in method order;
// fills their results. Refuses missing and malformed results, and changed programs.
Status run_backend(const Backend& backend, std::span<BackendJob* const> jobs,
                   const RunBackendOptions& options);

}  // namespace depute
