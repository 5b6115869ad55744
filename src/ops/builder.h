// Builds nodes whose result types come from the op table; what decompositions and passes write new code with.
//
//   Builder b(graph, &before);
//   b.inherit(node);                                    // source, debug handle and tag of what is being
//   replaced Value* y = b.call("aten.mul.Tensor", {x, b.call("aten.sigmoid.default", {x})});
//
// A call that does not type-check is a bug of the caller's rule, or a program torch would refuse too: it
// makes the builder fail, later calls return null, and status() tells the first cause. So rules are written
// without a check on each line.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "ops/op_def.h"

namespace depute {

// An Argument made from what rules write: a value, a number, a bool, a list of ints or of values, none.
struct BuilderArgument {
  enum class Kind : std::uint8_t { Ready, Ints, Values };
  Kind kind = Kind::Ready;
  Argument ready;
  std::vector<SymInt> ints;
  std::vector<Value*> values;

  BuilderArgument(Argument argument) : ready(argument) {}              // NOLINT: conversions are the point
  BuilderArgument(Value* value) : ready(Argument::of(value)) {}        // NOLINT
  BuilderArgument(std::int64_t value) : ready(Argument::of(value)) {}  // NOLINT
  BuilderArgument(int value) : ready(Argument::of(value)) {}           // NOLINT
  BuilderArgument(double value) : ready(Argument::of(value)) {}        // NOLINT
  BuilderArgument(bool value) : ready(Argument::of(value)) {}          // NOLINT
  BuilderArgument(ScalarType value) : ready(Argument::of(value)) {}    // NOLINT
  BuilderArgument(const Dims& sizes) : kind(Kind::Ints), ints(sizes.begin(), sizes.end()) {}  // NOLINT
  BuilderArgument(std::vector<SymInt> sizes) : kind(Kind::Ints), ints(std::move(sizes)) {}    // NOLINT
  BuilderArgument(const std::vector<std::int64_t>& sizes)
      : kind(Kind::Ints), ints(sizes.begin(), sizes.end()) {}                                 // NOLINT
  BuilderArgument(std::vector<Value*> list) : kind(Kind::Values), values(std::move(list)) {}  // NOLINT
};

class Builder {
 public:
  // New nodes go before `before` (null: at the end).
  explicit Builder(Graph& graph, Node* before = nullptr) : graph_(&graph), before_(before) {}

  Graph& graph() const { return *graph_; }
  void inherit(const Node& node);  // source, debug handle and tag for the nodes to come

  // Arguments in schema order; missing trailing ones take their defaults. For one result.
  Value* call(std::string_view op, std::initializer_list<BuilderArgument> args);
  Value* call(std::string_view op, std::span<const BuilderArgument> args);
  // For any number of results; empty after a failure.
  std::vector<Value*> call_all(std::string_view op, std::span<const BuilderArgument> args);
  std::vector<Value*> call_all(std::string_view op, std::initializer_list<BuilderArgument> args);

  // A size as an argument: an Int, or the value of a node that computes the expression (made once per graph
  // position).
  Argument size(const SymInt& value);

  void fail(Diagnostic diagnostic);
  bool failed() const { return !status_.has_value(); }
  const Status& status() const { return status_; }

 private:
  Graph* graph_;
  Node* before_;
  Symbol tag_;
  std::uint32_t debug_handle_ = 0;
  const SourceLocation* source_ = nullptr;
  Status status_;
};

}  // namespace depute
