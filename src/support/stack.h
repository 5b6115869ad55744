// Recursion over nested input needs some hundred KiB of stack. Threads of hosts have as little as 128 KiB, and so has a
// process under `ulimit -s 128`. Entry points therefore continue on a thread with a large stack if little is left:
//
//   return with_enough_stack([&] { return parse(text); });
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace depute {

// True if the current thread has at least 1 MiB of stack left, or if the system does not tell.
bool has_enough_stack();
// Runs the function on a thread with a large stack, and waits for it. Without such a thread, runs it here.
void run_on_large_stack(const std::function<void()>& function);

template <typename Function>
auto with_enough_stack(Function&& function) -> decltype(function()) {
  if (has_enough_stack()) return std::forward<Function>(function)();
  std::exception_ptr failure;
  std::optional<std::conditional_t<std::is_void_v<decltype(function())>, bool, decltype(function())>> result;
  run_on_large_stack([&] {
    try {
      if constexpr (std::is_void_v<decltype(function())>) {
        function();
      } else {
        result.emplace(function());
      }
    } catch (...) {
      failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
  if constexpr (!std::is_void_v<decltype(function())>) return std::move(*result);
}

}  // namespace depute
