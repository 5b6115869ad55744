// Result: a value or a Diagnostic for errors in the user's data, propagated in one line.
//
//   Result<Count> count_nodes(std::string_view text);
//   DEPUTE_TRY(Count count, count_nodes(text));  // returns the error, if there is one
//   if (count.nodes == 0) return failure("read_pt2", "graph.nodes", "there is none");
//
// Result mirrors std::expected, which C++20 does not have.
#pragma once

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "depute/api.h"

namespace depute {

// Describes an error: cause, place, and a hint for the user. Printed as "error[code]: where: message", then
// source, details and hint.
struct DEPUTE_API Diagnostic {
  std::string code = {};     // step that failed, e.g. "read_pt2"; messages start with it in brackets
  std::string where = {};    // place in the input: entry, JSON path, byte offset or node name; may be empty
  std::string message = {};  // the cause, one sentence without a full stop
  std::string hint = {};     // what to do about it; may be empty
  std::string source = {};   // the user's Python line ("model.py:12"), if the program contains it
  std::vector<std::string> details = {};  // one line per item that the message counts

  // "[read_pt2] graph.nodes[3]: unknown tensor 'x_2' (model.py:12)", then a line for each detail
  std::string str() const;

  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

// A Diagnostic to return; converts to a Result of any type.
class [[nodiscard]] Failure {
 public:
  explicit Failure(Diagnostic diagnostic)
      : diagnostic_(std::make_unique<Diagnostic>(std::move(diagnostic))) {}

  Diagnostic& error() { return *diagnostic_; }

 private:
  template <typename T>
  friend class Result;
  std::unique_ptr<Diagnostic> diagnostic_;
};

// Makes a Failure, which converts to a failed Result of any type.
DEPUTE_API Failure failure(std::string_view code, std::string_view where, std::string_view message,
                           std::string_view hint = {});

// --- words for messages

// Makes text from outside (file names, node names, source lines) safe to print: control characters, marks that reorder
// text, and bytes that are not valid UTF-8 become "\n" or "\x1b". The text stays on one line and cannot control the terminal.
DEPUTE_API std::string printable(std::string_view text);

// Returns "did you mean relu?" if a known word is within two typing errors, else `otherwise`.
DEPUTE_API std::string did_you_mean(std::string_view word, std::span<const std::string> known,
                                    std::string_view otherwise = {});

// Describes an exception that left the library or a callback: "memory" if an allocation failed, "internal" for a
// bug of Depute.
DEPUTE_API Diagnostic diagnostic_of(const std::exception& exception);

// --- results

// Thrown by value() if the Result holds an error.
class DEPUTE_API BadResultAccess : public std::logic_error {
 public:
  explicit BadResultAccess(const Diagnostic& diagnostic) : std::logic_error(diagnostic.str()) {}
};

// Error part of a Result: empty if the Result holds a value.
class ResultError {
 public:
  ResultError() = default;
  explicit ResultError(std::unique_ptr<Diagnostic> error) : error_(std::move(error)) {}
  ResultError(const ResultError& other)
      : error_(other.error_ ? std::make_unique<Diagnostic>(*other.error_) : nullptr) {}
  ResultError(ResultError&&) noexcept = default;
  ResultError& operator=(const ResultError& other) { return *this = ResultError(other); }
  ResultError& operator=(ResultError&&) noexcept = default;

  bool has_value() const { return error_ == nullptr; }
  explicit operator bool() const { return has_value(); }
  // Requires that there is no value.
  Diagnostic& error() & { return *error_; }
  const Diagnostic& error() const& { return *error_; }
  Diagnostic&& error() && { return std::move(*error_); }

 protected:
  void check() const {
    if (error_ != nullptr) [[unlikely]]
      throw_error();
  }

 private:
  [[noreturn]] void throw_error() const { throw BadResultAccess(*error_); }

  std::unique_ptr<Diagnostic> error_;
};

template <typename T>
class [[nodiscard]] Result : public ResultError {
 public:
  using value_type = T;

  Result() : value_(std::in_place) {}
  Result(Failure failure) : ResultError(std::move(failure.diagnostic_)) {}  // NOLINT: `return failure(...)`
  template <typename U = T>
    requires(std::is_constructible_v<T, U> && !std::derived_from<std::remove_cvref_t<U>, ResultError> &&
             !std::same_as<std::remove_cvref_t<U>, Failure>)
  explicit(!std::is_convertible_v<U, T>) Result(U&& value)  // NOLINT: `return value`
      : value_(std::in_place, std::forward<U>(value)) {}

  template <typename U>
    requires(!std::same_as<U, T> && std::is_constructible_v<T, U>)
  explicit(!std::is_convertible_v<U, T>) Result(Result<U> other)  // NOLINT: converts like its value
      : ResultError(other), value_(other ? std::optional<T>(*std::move(other)) : std::nullopt) {}

  // value() throws BadResultAccess if there is no value; operators * and -> require a value.
  T& value() & { return check(), *value_; }
  const T& value() const& { return check(), *value_; }
  T&& value() && { return check(), std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  template <typename U>
  T value_or(U&& otherwise) const& {
    return has_value() ? *value_ : static_cast<T>(std::forward<U>(otherwise));
  }

  // True if the Result holds a value equal to `value`.
  friend bool operator==(const Result& result, const T& value)
    requires std::equality_comparable<T>
  {
    return result.has_value() && *result.value_ == value;
  }

 private:
  std::optional<T> value_;
};

// Success without a value, or a Diagnostic.
template <>
class [[nodiscard]] Result<void> : public ResultError {
 public:
  using value_type = void;

  Result() = default;
  Result(Failure failure) : ResultError(std::move(failure.diagnostic_)) {}  // NOLINT: `return failure(...)`

  void value() const { check(); }
};
using Status = Result<void>;

}  // namespace depute

#define DEPUTE_CONCAT_(a, b) a##b
#define DEPUTE_CONCAT(a, b) DEPUTE_CONCAT_(a, b)
#define DEPUTE_TRY_(result, declaration, ...)                       \
  auto result = (__VA_ARGS__);                                      \
  if (!result) return ::depute::Failure(std::move(result).error()); \
  declaration = std::move(result).value()

// DEPUTE_TRY(auto x, f()): declares x with f()'s value, or returns f()'s Diagnostic from the enclosing
// function. It is several statements: put it in braces after an `if` or `for`.
#define DEPUTE_TRY(declaration, ...) \
  DEPUTE_TRY_(DEPUTE_CONCAT(depute_try_, __COUNTER__), declaration, __VA_ARGS__)

// DEPUTE_TRY_STATUS(f()): returns f()'s Diagnostic from the enclosing function if the Status f() failed.
#define DEPUTE_TRY_STATUS(...)                                     \
  do {                                                             \
    if (auto depute_status_ = (__VA_ARGS__); !depute_status_) {    \
      return ::depute::Failure(std::move(depute_status_).error()); \
    }                                                              \
  } while (false)
