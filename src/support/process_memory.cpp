#include "support/process_memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace depute {
namespace {

// Address space the heap asks for at first, and each time it is used up; memory is taken when it is written
// to.
constexpr int first_heap_bytes = 256 << 20;
constexpr int more_heap_bytes = 16 << 20;
constexpr int largest_threshold = 32 << 20;                  // glibc ignores more
constexpr std::size_t unusual_bytes = std::size_t{1} << 20;  // more than the heap has before main
constexpr std::uintptr_t huge_page = std::uintptr_t{2} << 20;

// Asks for huge pages in all of the heap there is: a page fault for each 4 KiB would take a tenth of the
// time.
void ask_for_huge_pages(const void* start) {
  auto from = (reinterpret_cast<std::uintptr_t>(start) + huge_page - 1) / huge_page * huge_page;
  auto to = reinterpret_cast<std::uintptr_t>(sbrk(0));
  if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
}

}  // namespace

void set_up_memory() {
  // Large buffers are made one after the other: their pages stay, instead of going back to the system.
  mallopt(M_MMAP_THRESHOLD, largest_threshold);
  mallopt(M_TRIM_THRESHOLD, first_heap_bytes);
  // Small pieces are joined when they are freed: to join all of them now and then takes longer.
  mallopt(M_MXFAST, 0);
  mallopt(M_TOP_PAD, first_heap_bytes);
  void* start = std::malloc(unusual_bytes);  // makes the heap grow
  if (start != nullptr) ask_for_huge_pages(start);
  std::free(start);
  mallopt(M_TOP_PAD, more_heap_bytes);
}

}  // namespace depute
