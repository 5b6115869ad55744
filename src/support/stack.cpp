#include "support/stack.h"

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace depute {
namespace {

constexpr std::size_t enough_bytes = std::size_t{1} << 20;
constexpr std::size_t large_bytes = std::size_t{8} << 20;  // what Linux gives the main thread by default

// The lowest address of the current thread's stack, or 0 if unknown. For the main thread this reads a file of the
// system, so it is asked once for each thread.
std::uintptr_t lowest_address() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  std::size_t size = 0;
  if (pthread_attr_getstack(&attributes, &lowest, &size) != 0) lowest = nullptr;
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<std::uintptr_t>(lowest);
}

void* call(void* function) {
  (*static_cast<const std::function<void()>*>(function))();
  return nullptr;
}

}  // namespace

bool has_enough_stack() {
  thread_local const std::uintptr_t lowest = lowest_address();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return lowest == 0 || here < lowest || here - lowest >= enough_bytes;
}

void run_on_large_stack(const std::function<void()>& function) {
  pthread_attr_t attributes;
  pthread_t thread{};
  bool has_started = false;
  if (pthread_attr_init(&attributes) == 0) {
    void* argument = const_cast<std::function<void()>*>(&function);
    has_started = pthread_attr_setstacksize(&attributes, large_bytes) == 0 &&
                  pthread_create(&thread, &attributes, call, argument) == 0;
    pthread_attr_destroy(&attributes);
  }
  if (!has_started) return function();
  pthread_join(thread, nullptr);
}

}  // namespace depute
