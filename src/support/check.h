// CHECK: invariants that only a bug of ours can break. Throws an InternalError with the condition, the place
// and the streamed text; the entry points of the library make a Diagnostic of it (guarded.h), so that no bug
// ends the process we are called from.
//
//   CHECK(node.uses().empty()) << "erasing " << node.op();
//
// Never use it on outside data, which returns a Result (result.h), nor in destructors.
#pragma once

#include <sstream>
#include <stdexcept>

namespace depute {

// A bug of ours, noticed. what(): "CHECK(condition) failed at file:line text".
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace depute

namespace depute::internal {

// Collects the message.
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

// Throws once the message is whole, and gives both branches of CHECK's conditional the type void.
struct ThrowFailure {
  [[noreturn]] void operator&(const CheckFailure& failure) const;
};

}  // namespace depute::internal

// NOLINTNEXTLINE(bugprone-macro-parentheses): what follows is streamed into it
#define CHECK(condition)                             \
  (condition) ? static_cast<void>(0)                 \
              : ::depute::internal::ThrowFailure() & \
                    ::depute::internal::CheckFailure(#condition, __FILE__, __LINE__)
