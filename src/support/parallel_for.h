// Parallel loops, and what only the first of several threads does. Results must not depend on the order of the calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>

namespace depute {

// Calls body(i) for every i in [0, count), on at most `jobs` threads including the caller's. Indices are
// taken in order, so long tasks should come first.
// If a body throws, bodies that have not started are skipped; the first exception is rethrown after all
// threads are done. A loop inside a body runs sequentially in its thread.
void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body);

// Runs a function once. Exceptions pass, unlike those through std::call_once when memory has run out: glibc aborts.
class Once {
 public:
  // Calls the function if no earlier call has returned. Others wait for it.
  template <typename Function>
  void run(Function&& function) {
    if (is_done_.load(std::memory_order_acquire)) return;
    const std::lock_guard held(mutex_);
    if (is_done_.load(std::memory_order_relaxed)) return;
    function();
    is_done_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> is_done_ = false;
  std::mutex mutex_;
};

}  // namespace depute
