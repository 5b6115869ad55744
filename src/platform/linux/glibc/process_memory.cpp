#include "platform/process_memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace depute::platform {
namespace {

// Address space in bytes by which the heap grows at first, and each later time; pages are allocated on first
// write.
constexpr int first_heap_bytes = 256 << 20;
constexpr int more_heap_bytes = 16 << 20;
constexpr int largest_threshold = 32 << 20;                  // maximum that glibc accepts
constexpr std::size_t unusual_bytes = std::size_t{1} << 20;  // larger than the heap before main()
constexpr std::uintptr_t huge_page = std::uintptr_t{2} << 20;

// Requests huge pages for the whole heap: one page fault per 4 KiB would cost a tenth of the run time.
void ask_for_huge_pages(const void* start) {
  auto from = (reinterpret_cast<std::uintptr_t>(start) + huge_page - 1) / huge_page * huge_page;
  auto to = reinterpret_cast<std::uintptr_t>(sbrk(0));
  if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
}

}  // namespace

void set_up_memory() {
  // Large buffers are allocated one after the other: keep their pages instead of returning them to the
  // system.
  mallopt(M_MMAP_THRESHOLD, largest_threshold);
  mallopt(M_TRIM_THRESHOLD, first_heap_bytes);
  // Merge small chunks when they are freed; merging all of them at intervals takes longer.
  mallopt(M_MXFAST, 0);
  mallopt(M_TOP_PAD, first_heap_bytes);
  void* start = std::malloc(unusual_bytes);  // grows the heap
  if (start != nullptr) ask_for_huge_pages(start);
  std::free(start);
  mallopt(M_TOP_PAD, more_heap_bytes);
}

}  // namespace depute::platform
