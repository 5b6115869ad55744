// Boundary of the library: converts exceptions thrown inside into a Diagnostic. Every public entry point is
// one call of guarded().
//
//   Result<Plan> make_plan(const Program& program) {
//     return guarded([&]() -> Result<Plan> { ... });
//   }
//
// Code "memory": out of memory, or a size beyond all limits. Code "internal": a bug of Depute. Exceptions
// that are no std::exception pass through.
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
