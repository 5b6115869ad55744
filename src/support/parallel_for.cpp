#include "support/parallel_for.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <utility>

namespace depute {
namespace {

thread_local bool is_inside = false;  // this thread runs a body now

// Marks the thread while a body runs.
class Inside {
 public:
  Inside() : before_(std::exchange(is_inside, true)) {}
  ~Inside() { is_inside = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool before_;
};

void run_on_all(std::size_t count, const std::function<void(std::size_t)>& body) {
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    Inside inside;
    body(i);
  });
}

}  // namespace

void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body) {
  if (jobs <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  if (is_inside) return run_on_all(count, body);
  // More threads than the machine has would only bring a warning of TBB's.
  tbb::task_arena arena(std::min(jobs, tbb::info::default_concurrency()));
  arena.execute([&] { run_on_all(count, body); });
}

}  // namespace depute
