#include "support/parallel_for.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

namespace depute {

void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body) {
  if (jobs <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  // More threads than the machine has would only bring a warning of TBB's.
  tbb::task_arena arena(std::min(jobs, tbb::info::default_concurrency()));
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, body); });
}

}  // namespace depute
