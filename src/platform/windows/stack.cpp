#include "platform/stack.h"

#include "platform/windows/system_parts.h"

namespace depute::platform {
namespace {

DWORD WINAPI call(void* function) {
  (*static_cast<const std::function<void()>*>(function))();
  return 0;
}

}  // namespace

std::uintptr_t lowest_stack_address() {
  ULONG_PTR lowest = 0;
  ULONG_PTR highest = 0;
  GetCurrentThreadStackLimits(&lowest, &highest);
  return lowest;
}

bool run_on_thread(std::size_t stack_bytes, const std::function<void()>& function) {
  void* argument = const_cast<std::function<void()>*>(&function);
  const HANDLE thread =
      CreateThread(nullptr, stack_bytes, call, argument, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (thread == nullptr) return false;
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
  return true;
}

}  // namespace depute::platform
