// Loads and destroys a method of a .pte many times with a plug-in, for test_package_runtime.py.
//
//   load_often PLUGIN.so PROGRAM.pte COUNT
#include <dlfcn.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace et = executorch::runtime;

int main(int, char** argv) {
  et::runtime_init();
  if (dlopen(argv[1], RTLD_NOW) == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  auto loader = executorch::extension::MmapDataLoader::from(argv[2]);
  auto program = et::Program::load(&*loader);
  auto meta = program->method_meta("forward");
  std::vector<std::vector<uint8_t>> arenas;
  std::vector<et::Span<uint8_t>> spans;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    arenas.emplace_back(static_cast<size_t>(*meta->memory_planned_buffer_size(i)));
    spans.emplace_back(arenas.back().data(), arenas.back().size());
  }
  const int count = std::atoi(argv[3]);
  for (int i = 0; i < count; ++i) {
    std::vector<uint8_t> memory(1 << 20);
    et::MemoryAllocator tables(static_cast<uint32_t>(memory.size()), memory.data());
    et::HierarchicalAllocator planned({spans.data(), spans.size()});
    et::MemoryManager manager(&tables, &planned);
    auto method = program->load_method("forward", &manager);
    if (!method.ok()) return 1;
  }
  std::printf("%d loads\n", count);
  return 0;
}
