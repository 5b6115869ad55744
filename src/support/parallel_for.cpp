#include "support/parallel_for.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace depute {

void parallel_for(std::size_t count, int jobs, const std::function<void(std::size_t)>& body) {
  if (jobs <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  tbb::task_arena arena(jobs);
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, body); });
}

}  // namespace depute
