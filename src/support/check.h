// CHECK: invariants that only a bug of ours can break. Prints the condition, the place and the streamed text,
// then aborts.
//
//   CHECK(node.uses().empty()) << "erasing " << node.op();
//
// Never use it on outside data: that returns a Result (result.h).
#pragma once

#include <sstream>

namespace depute::internal {

// Collects the message and aborts when it goes out of scope.
class CheckFailure {
 public:
  CheckFailure(const char* condition, const char* file, int line);
  [[noreturn]] ~CheckFailure();
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;

  template <typename T>
  CheckFailure& operator<<(const T& value) {
    text_ << value;
    return *this;
  }

 private:
  std::ostringstream text_;
};

// Gives both branches of CHECK's conditional the type void.
struct Voidify {
  void operator&(const CheckFailure&) const {}
};

}  // namespace depute::internal

#define CHECK(condition)     \
  (condition)                \
      ? static_cast<void>(0) \
      : ::depute::internal::Voidify() & ::depute::internal::CheckFailure(#condition, __FILE__, __LINE__)
