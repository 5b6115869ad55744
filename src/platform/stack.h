// Stacks of threads (support/stack.h decides when a larger one is needed).
//
//   if (!platform::run_on_thread(8 << 20, function)) function();
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace depute::platform {

// The lowest address of the current thread's stack; 0 if unknown. May read a file of the system.
std::uintptr_t lowest_stack_address();

// Runs the function on a new thread with a stack of this size, and waits for it. Returns false if there is no such thread.
bool run_on_thread(std::size_t stack_bytes, const std::function<void()>& function);

}  // namespace depute::platform
