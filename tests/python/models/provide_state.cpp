// An application that keeps a method's state itself: lowered with --alloc-state=no, for test_memory_banks.py.
//
//   provide_state PROGRAM.pte METHOD BUFFER START COUNT CALLS
//
// Gives BUFFER memory of COUNT floats, all START, and calls METHOD, whose inputs are ones. Prints the first value of the buffer and
// of each output after every call.
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace et = executorch::runtime;

namespace {

uint8_t* pool(size_t size) {
  return static_cast<uint8_t*>(std::aligned_alloc(64, (size + 64) / 64 * 64));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) return 2;
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
  et::MemoryAllocator tables(1 << 20, pool(1 << 20));
  et::MemoryManager manager(&tables, &planned);
  auto method = program->load_method(argv[2], &manager);
  if (!method.ok()) return 1;
  std::vector<float> state(static_cast<size_t>(std::atoi(argv[5])), static_cast<float>(std::atof(argv[4])));
  auto buffer = method->get_attribute(argv[3]);
  if (!buffer.ok()) return 1;
  if (et::internal::set_tensor_data(*buffer, state.data(), state.size() * sizeof(float)) != et::Error::Ok) return 1;
  for (int call = 0; call < std::atoi(argv[6]); ++call) {
    for (size_t i = 0; i < method->inputs_size(); ++i) {
      auto tensor = method->get_input(i).toTensor();
      std::fill_n(tensor.mutable_data_ptr<float>(), tensor.numel(), 1.0f);
    }
    if (method->execute() != et::Error::Ok) return 1;
    std::printf("%g", static_cast<double>(state[0]));
    for (size_t i = 0; i < method->outputs_size(); ++i)
      std::printf(" %g", static_cast<double>(method->get_output(i).toTensor().const_data_ptr<float>()[0]));
    std::printf("\n");
  }
  std::fflush(stdout);
  std::_Exit(0);
}
