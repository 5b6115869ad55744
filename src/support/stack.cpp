#include "support/stack.h"

#include <cstddef>
#include <cstdint>

#include "depute/program/name_scope.h"
#include "platform/stack.h"

namespace depute {
namespace {

constexpr std::size_t enough_bytes = std::size_t{1} << 20;
constexpr std::size_t large_bytes = std::size_t{8} << 20;  // what Linux gives the main thread by default

}  // namespace

bool has_enough_stack() {
  thread_local const std::uintptr_t lowest = platform::lowest_stack_address();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return lowest == 0 || here < lowest || here - lowest >= enough_bytes;
}

void run_on_large_stack(const std::function<void()>& function) {
  const NameScope names = NameScope::current();
  const auto with_names = [&] {
    const NameScope::Use use(names);
    function();
  };
  if (!platform::run_on_thread(large_bytes, with_names)) function();
}

}  // namespace depute
