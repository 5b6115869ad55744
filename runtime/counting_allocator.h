// Allocators for ExecuTorch's runtime that never run out, and count what an application has to provide.
#pragma once

#include <executorch/runtime/core/memory_allocator.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace depute {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using AlignedMemory = std::unique_ptr<void, FreeMemory>;

inline constexpr std::size_t memory_alignment = 64;

inline std::size_t aligned(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

inline AlignedMemory allocate_aligned(std::size_t size, std::size_t alignment = memory_alignment) {
  const std::size_t used = std::max(alignment, memory_alignment);
  return AlignedMemory(std::aligned_alloc(used, aligned(std::max(size, std::size_t{1}), used)));
}

class CountingAllocator final : public executorch::runtime::MemoryAllocator {
 public:
  CountingAllocator() : MemoryAllocator(0, nullptr) {}

  void* allocate(std::size_t size, std::size_t alignment = kDefaultAlignment) override {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) return nullptr;
    AlignedMemory memory = allocate_aligned(size, alignment);
    if (memory == nullptr) return nullptr;
    // Counts as a MemoryAllocator does, if its buffer starts at a multiple of the largest alignment.
    used_ = aligned(used_, alignment) + size;
    most_ = std::max(most_, used_);
    blocks_.push_back(std::move(memory));
    return blocks_.back().get();
  }
  void reset() override {
    blocks_.clear();
    used_ = 0;
  }
  // The runtime takes a temporary allocator without a size for none.
  std::uint32_t size() const override { return UINT32_MAX; }
  std::size_t used_size() const override { return used_; }
  std::size_t free_size() const override { return SIZE_MAX; }
  std::size_t most_used() const { return most_; }

 private:
  std::vector<AlignedMemory> blocks_;
  std::size_t used_ = 0;
  std::size_t most_ = 0;
};

}  // namespace depute
