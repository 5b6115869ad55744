// Errors that come from the user's data: a value or a Diagnostic, passed upward on one line.
//
//   Result<Graph> read_graph(Json json);
//   TRY(Graph graph, read_graph(json["graph"]));        // returns the Diagnostic to our caller if there is
//   one return error("read_pt2", "graph.nodes[3]", "unknown tensor 'x_2'");
//
// Failures that only a bug of ours can cause are not Results: see check.h.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace depute {

// What went wrong, where, and what the user can do. Printed as "error[code] where: message", then source,
// details and hint.
struct Diagnostic {
  std::string code;     // the step that refuses, e.g. "read_pt2"; messages start with it in brackets
  std::string where;    // place in the input: entry, JSON path, byte offset, or node name; may be empty
  std::string message;  // the cause, one sentence without a full stop
  std::string hint;     // what to do about it; may be empty
  std::string source;   // the user's Python line ("model.py:12"), when the program carries it
  std::vector<std::string> details = {};  // a line for each thing or kind of thing that the message counts

  // "[read_pt2] graph.nodes[3]: unknown tensor 'x_2' (model.py:12)", then a line for each detail
  std::string str() const;

  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

template <typename T>
using Result = std::expected<T, Diagnostic>;
using Status = Result<void>;

// A failed Result; converts to any Result<T>.
std::unexpected<Diagnostic> error(std::string_view code, std::string_view where, std::string_view message,
                                  std::string_view hint = {});

}  // namespace depute

#define DEPUTE_CONCAT_(a, b) a##b
#define DEPUTE_CONCAT(a, b) DEPUTE_CONCAT_(a, b)
#define DEPUTE_TRY_(tmp, declaration, ...)                  \
  auto tmp = (__VA_ARGS__);                                 \
  if (!tmp) return std::unexpected(std::move(tmp).error()); \
  declaration = std::move(tmp).value()

// TRY(auto x, f()): declares x with f()'s value, or returns f()'s Diagnostic from the enclosing function.
#define TRY(declaration, ...) DEPUTE_TRY_(DEPUTE_CONCAT(try_result_, __COUNTER__), declaration, __VA_ARGS__)

// TRY_STATUS(f()): the same for a Status.
#define TRY_STATUS(...)                                       \
  do {                                                        \
    if (auto try_status_ = (__VA_ARGS__); !try_status_) {     \
      return std::unexpected(std::move(try_status_).error()); \
    }                                                         \
  } while (false)
