// to_backend() for programs that are already verified, as the stages of a compilation are.
#pragma once

#include "depute/compiler/to_backend.h"
#include "lower/cache/result_cache.h"

namespace depute {

// Nodes in the result's verdicts and partitions belong to `program`. Uses `cache` in place of the one in `options`, so
// that several calls share one: a server that has failed in one is not asked in the next.
Result<Lowered> delegate_parts(const Program& program, const MethodPartitioners& partitioners,
                               const Registry& registry, const ToBackendOptions& options, ResultCache& cache);

}  // namespace depute
