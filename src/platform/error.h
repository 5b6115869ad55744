// Results of src/platform: a value or the system's own error. Callers make the messages, since they know the user's file.
//
//   auto file = platform::File::open(path);
//   if (!file) return failure("open", path, file.error().message());   // "No such file or directory"
//
// Expected mirrors std::expected, which clang before 19 does not have with libstdc++.
#pragma once

#include <optional>
#include <system_error>
#include <utility>

namespace depute::platform {

// An error to return; converts to an Expected of any type.
struct Unexpected {
  std::error_code error;
};

template <typename T>
class [[nodiscard]] Expected {
 public:
  Expected() : value_(T()) {}
  Expected(T value) : value_(std::move(value)) {}                // NOLINT: to return either
  Expected(Unexpected unexpected) : error_(unexpected.error) {}  // NOLINT

  explicit operator bool() const { return value_.has_value(); }
  // These need a value.
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T value_or(T other) && { return std::move(value_).value_or(std::move(other)); }

  const std::error_code& error() const { return error_; }

 private:
  std::optional<T> value_;
  std::error_code error_;
};

}  // namespace depute::platform
