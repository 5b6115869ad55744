// An application with pools of fixed sizes, as on a microcontroller: loads a method of a .pte, for test_load_memory.py.
//
//   load_with_pools PROGRAM.pte METHOD TABLES TEMPORARY      bytes; without TEMPORARY there is no temporary allocator
//
// Exit code 0 if it loads, 1 if not. `used` bytes of the method allocator are printed.
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

namespace et = executorch::runtime;

namespace {

uint8_t* pool(size_t size) {
  return static_cast<uint8_t*>(std::aligned_alloc(64, (size + 64) / 64 * 64));
}

}  // namespace

int main(int argc, char** argv) {
  et::runtime_init();
  auto loader = executorch::extension::MmapDataLoader::from(argv[1]);
  auto program = et::Program::load(&*loader);
  auto meta = program->method_meta(argv[2]);
  std::vector<et::Span<uint8_t>> arenas;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    const auto size = static_cast<size_t>(*meta->memory_planned_buffer_size(i));
    arenas.emplace_back(pool(size), size);
  }
  et::HierarchicalAllocator planned({arenas.data(), arenas.size()});
  const auto tables_size = static_cast<uint32_t>(std::atoi(argv[3]));
  et::MemoryAllocator tables(tables_size, pool(tables_size));
  std::optional<et::MemoryAllocator> temporary;
  if (argc > 4) {
    const auto size = static_cast<uint32_t>(std::atoi(argv[4]));
    temporary.emplace(size, pool(size));
  }
  et::MemoryManager manager(&tables, &planned, temporary ? &*temporary : nullptr);
  auto method = program->load_method(argv[2], &manager);
  std::printf("%s, %zu used\n", method.ok() ? "loaded" : "not loaded", tables.used_size());
  std::fflush(stdout);
  std::_Exit(method.ok() ? 0 : 1);
}
