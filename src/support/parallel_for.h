// Parallel loops. Results must not depend on the order of the calls.
#pragma once

#include <cstddef>
#include <functional>

namespace depute {

// Calls body(i) for every i in [0, count), on at most `jobs` threads including the caller's. Indices are
// taken in order, so long tasks should come first.
// If a body throws, bodies that have not started are skipped; the first exception is rethrown after all
// threads are done. A loop inside a body runs sequentially in its thread.
void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body);

}  // namespace depute
