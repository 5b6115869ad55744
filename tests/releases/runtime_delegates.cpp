// Measures what a delegate keeps in the method allocator, for changes.py: what its backend allocates before it refuses an empty
// payload. A library that is loaded into a Python process with ExecuTorch's runtime.
//
//   delegate_size("XnnpackBackend", sizes)     {272, 8}
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/memory_allocator.h>

#include <cstddef>

namespace et = executorch::runtime;

namespace {

class FirstAllocation final : public et::MemoryAllocator {
 public:
  explicit FirstAllocation(size_t* sizes) : MemoryAllocator(sizeof memory_, memory_), sizes_(sizes) {}
  void* allocate(size_t bytes, size_t alignment) override {
    if (sizes_[0] == 0) {
      sizes_[0] = bytes;
      sizes_[1] = alignment;
    }
    return MemoryAllocator::allocate(bytes, alignment);
  }

 private:
  size_t* sizes_;
  alignas(64) uint8_t memory_[1 << 16];
};

}  // namespace

// Sets bytes and alignment; they stay 0 if the backend is not there or keeps nothing.
extern "C" void delegate_size(const char* backend_id, size_t* sizes) {
  et::BackendInterface* backend = et::get_backend_class(backend_id);
  if (backend == nullptr || !backend->is_available()) return;
  FirstAllocation allocator(sizes);
  et::BackendInitContext context(&allocator);
  et::FreeableBuffer empty("", 0, nullptr);
  (void)backend->init(context, &empty, {});
}
