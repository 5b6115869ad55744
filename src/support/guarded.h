// The borders of the library: what is thrown on one side comes out as a Diagnostic on the other.
//
// guarded() is the border to our callers. Every public entry point is one call of it:
//
//   Result<Plan> make_plan(const Program& program) {
//     return guarded([&]() -> Result<Plan> { ... });
//   }
//
// memory_code: there was not enough of it, or something asked for more than there can be. Code "internal":
// a bug of ours.
//
// call_foreign() is the border to code of others, of a backend or of a caller, which may throw whatever it
// likes. Every call of it is one of these:
//
//   TRY_STATUS(call_foreign("callback", "observe()", [&] { options.observe(step, program); }));
#pragma once

#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include "depute/result.h"
#include "support/thrown_error.h"

namespace depute {

inline constexpr std::string_view memory_code = "memory";

Diagnostic diagnostic_of(const std::exception& exception);

template <typename Function>
auto guarded(Function&& function) -> decltype(function()) {
  try {
    return std::forward<Function>(function)();
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

// `place` with the words of the exception that is being handled.
Failure failure_of_foreign(Failure place);

}  // namespace internal

// What the function gives, as a Result if it is none. What it throws is an error with the code, place and
// hint of the Failure that `place()` gives.
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
