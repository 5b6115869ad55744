#include "platform/stack.h"

#include <pthread.h>

namespace depute::platform {
namespace {

void* call(void* function) {
  (*static_cast<const std::function<void()>*>(function))();
  return nullptr;
}

}  // namespace

bool run_on_thread(std::size_t stack_bytes, const std::function<void()>& function) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_t thread{};
  void* argument = const_cast<std::function<void()>*>(&function);
  const bool has_started = pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
                           pthread_create(&thread, &attributes, call, argument) == 0;
  pthread_attr_destroy(&attributes);
  if (has_started) pthread_join(thread, nullptr);
  return has_started;
}

}  // namespace depute::platform
