#include "support/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "depute/program/name_scope.h"
#include "support/stack.h"

namespace depute {
namespace {

thread_local bool is_inside = false;  // this thread runs the body of a parallel loop

// Distributes the indices in order to the threads, and keeps the first exception.
class Loop {
 public:
  Loop(std::size_t count, const std::function<void(std::size_t)>& body) : count_(count), body_(body) {}

  void work() {
    const NameScope::Use use(names_);
    is_inside = true;
    try {
      for (std::size_t i = next_++; i < count_; i = next_++) body_(i);
    } catch (...) {
      next_ = count_;
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    is_inside = false;
  }

  void finish() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::size_t count_;
  const std::function<void(std::size_t)>& body_;
  const NameScope names_ = NameScope::current();  // of the caller's thread
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

// Starts up to `count` threads. If the system has no more threads, those already started do the work.
std::vector<std::thread> start(std::size_t count, Loop& loop) {
  std::vector<std::thread> helpers;
  helpers.reserve(count);  // prevents an exception while threads run
  try {
    for (std::size_t i = 0; i < count; ++i)
      helpers.emplace_back([&loop] { with_enough_stack([&loop] { loop.work(); }); });
  } catch (const std::system_error&) {
  }
  return helpers;
}

}  // namespace

void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body) {
  const std::size_t threads = std::min(count, static_cast<std::size_t>(std::max(jobs, 1)));
  if (threads <= 1 || is_inside) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  Loop loop(count, body);
  std::vector<std::thread> helpers = start(threads - 1, loop);
  loop.work();
  for (std::thread& helper : helpers) helper.join();
  loop.finish();
}

}  // namespace depute
