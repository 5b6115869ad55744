// The border of the library: what is thrown inside comes out as a Diagnostic. Every public entry point is one
// call of guarded().
//
//   Result<Plan> make_plan(const Program& program) {
//     return guarded([&]() -> Result<Plan> { ... });
//   }
//
// Code "memory": there was not enough of it, or something asked for more than there can be. Code "internal":
// a bug of ours. What is no std::exception is not ours and passes.
#pragma once

#include <exception>
#include <utility>

#include "depute/result.h"

namespace depute {

Diagnostic diagnostic_of(const std::exception& exception);

template <typename Function>
auto guarded(Function&& function) -> decltype(function()) {
  try {
    return std::forward<Function>(function)();
  } catch (const std::exception& exception) {
    return Failure(diagnostic_of(exception));
  }
}

}  // namespace depute
