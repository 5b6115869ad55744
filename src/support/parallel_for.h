// parallel_for over a thread pool of a fixed number of jobs. Results must not depend on the order of the
// calls.
#pragma once

#include <cstddef>
#include <functional>

namespace depute {

// Calls body(i) for every i in [0, count), on at most `jobs` threads; jobs 1 (or count 1) runs in the caller.
// A call inside a body shares the threads of the outer one: those that have nothing left to do there help.
void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body);

}  // namespace depute
