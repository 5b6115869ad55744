// Loops whose bodies run side by side. Results must not depend on the order of the calls.
#pragma once

#include <cstddef>
#include <functional>

namespace depute {

// Calls body(i) for every i in [0, count), on at most `jobs` threads, the caller's among them. Indices are
// taken in order, so that long work should come first. What a body throws comes out here, once all threads
// are done; bodies that were not begun by then may be left out. A loop inside a body runs in its thread
// alone.
void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body);

}  // namespace depute
