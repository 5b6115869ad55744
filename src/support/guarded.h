// The borders of the library: an exception on one side becomes a Diagnostic on the other.
//
// guarded() is the border to callers. Every public entry point is one call of it:
//
//   Result<Plan> make_plan(const Program& program) {
//     return guarded([&]() -> Result<Plan> { ... });
//   }
//
// guarded() gives the function enough stack (stack.h). The codes of its failures: "memory" (memory_code) if an allocation failed or was larger than possible, "internal" for a bug of
// Depute.
//
// call_foreign() is the border to foreign code, of a backend or a caller, which may throw anything. Every call of
// foreign code goes through it:
//
//   TRY_STATUS(call_foreign("callback", "observe()", [&] { options.observe(step, program); }));
#pragma once

#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include "depute/program/result.h"
#include "support/stack.h"
#include "support/thrown_error.h"

namespace depute {

inline constexpr std::string_view memory_code = "memory";

template <typename Function>
auto guarded(Function&& function) -> decltype(function()) {
  try {
    return with_enough_stack(std::forward<Function>(function));
  } catch (const std::exception& exception) {
    return Failure(diagnostic_of(exception));
  }
}

namespace internal {

template <typename T>
struct AsResult {
  using Type = Result<T>;
};
template <typename T>
struct AsResult<Result<T>> {
  using Type = Result<T>;
};

// Returns `place` with the message of the exception that is being handled.
Failure failure_of_foreign(Failure place);

}  // namespace internal

// Returns the function's answer as a Result. An exception becomes a failure with the code, place and hint that
// `place()` returns.
template <typename Place, typename Function>
  requires std::is_invocable_r_v<Failure, Place>
auto call_foreign(Place&& place, Function&& function)
    -> internal::AsResult<std::remove_cvref_t<std::invoke_result_t<Function>>>::Type {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Function>>) {
      function();
      return {};
    } else {
      return function();
    }
  } catch (const ThrownError& error) {
    return Failure(error.diagnostic());
  } catch (...) {
    return internal::failure_of_foreign(place());
  }
}

template <typename Function>
auto call_foreign(std::string_view code, std::string_view where, Function&& function) {
  return call_foreign([&] { return failure(code, where, {}); }, std::forward<Function>(function));
}

// The value, where there is no Result to return: guarded() gives the error back as it was.
template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw ThrownError(std::move(result).error());
  return std::move(result).value();
}

}  // namespace depute
