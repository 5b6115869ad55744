// CHECK: asserts invariants that only a bug of Depute can violate. It throws an InternalError with the
// condition, the place and the streamed text. The library's entry points turn it into a Diagnostic
// (guarded.h), so a bug does not end the calling process.
//
//   CHECK(node.uses().empty()) << "erasing " << node.op();
//
// Do not use it in destructors, nor for data from outside: these return a Result (result.h).
#pragma once

#include <sstream>
#include <stdexcept>

namespace depute {

// Thrown when a bug of Depute is detected. what(): "CHECK(condition) failed at file:line text".
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace depute

namespace depute::internal {

// Collects the streamed message.
class CheckFailure {
 public:
  CheckFailure(const char* condition, const char* file, int line);

  template <typename T>
  CheckFailure& operator<<(const T& value) {
    text_ << value;
    return *this;
  }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

// Makes the message on the heap, and the throw deletes it: an accessor with a CHECK has nothing on its stack that a stack
// protector would have to guard, which took most of its time.
[[gnu::cold]] CheckFailure& check_failed(const char* condition, const char* file, int line);

// Throws when the message is complete, and gives both branches of CHECK's conditional the type void.
struct ThrowFailure {};
[[noreturn, gnu::cold]] void operator&(ThrowFailure, CheckFailure& failure);

}  // namespace depute::internal

// NOLINTNEXTLINE(bugprone-macro-parentheses): the message is streamed into it
#define CHECK(condition)                             \
  (condition) ? static_cast<void>(0)                 \
              : ::depute::internal::ThrowFailure() & \
                    ::depute::internal::check_failed(#condition, __FILE__, __LINE__)
