// Builder: appends nodes whose result types come from the op table. Decompositions and passes build new nodes
// with it.
//
//   Builder b(graph, &before);
//   b.inherit(node);  // source, debug handle and tag of what is being replaced
//   Value* y = b.call("aten.mul.Tensor", {x, b.call("aten.sigmoid.default", {x})});
//
// A call that does not type-check makes the builder fail: the caller's rule has a bug, or torch would also
// reject the program. An unknown op and too many arguments make it fail, too. Later calls return null, and
// status() holds the first error. Inside run() a failed call leaves the rule at once, so rules need no check
// on each line.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/program/op.h"

namespace depute {

// An argument as rules write it: a value, a number, a bool, a list of ints or of values, or none.
struct BuilderArgument {
  enum class Kind : std::uint8_t { Ready, Value, Ints, Values };
  Kind kind = Kind::Ready;
  Argument ready;
  const Value* single = nullptr;  // belongs to the builder's graph; null is None
  std::vector<SymInt> ints;
  std::vector<Value*> values;  // null is None

  BuilderArgument(Argument argument) : ready(argument) {}  // NOLINT: conversions are the point
  BuilderArgument(const Value* value) : kind(Kind::Value), single(value) {}                   // NOLINT
  BuilderArgument(std::int64_t value) : ready(Argument::of(value)) {}                         // NOLINT
  BuilderArgument(int value) : ready(Argument::of(value)) {}                                  // NOLINT
  BuilderArgument(double value) : ready(Argument::of(value)) {}                               // NOLINT
  BuilderArgument(bool value) : ready(Argument::of(value)) {}                                 // NOLINT
  BuilderArgument(ScalarType value) : ready(Argument::of(value)) {}                           // NOLINT
  BuilderArgument(const char* text) : ready(Argument::string(text)) {}                        // NOLINT
  BuilderArgument(const Dims& sizes) : kind(Kind::Ints), ints(sizes.begin(), sizes.end()) {}  // NOLINT
  BuilderArgument(std::vector<SymInt> sizes) : kind(Kind::Ints), ints(std::move(sizes)) {}    // NOLINT
  BuilderArgument(const std::vector<std::int64_t>& sizes)
      : kind(Kind::Ints), ints(sizes.begin(), sizes.end()) {}                                 // NOLINT
  BuilderArgument(std::vector<Value*> list) : kind(Kind::Values), values(std::move(list)) {}  // NOLINT
};

class SizeValues;  // table of symbolic sizes, internal
struct Method;

class DEPUTE_API Builder {
 public:
  // New nodes are inserted before `before` (null: at the end). Builders of one walk may share `sizes`.
  // `method`, if given, must contain the graph; it owns the bodies made by add_body().
  explicit Builder(Graph& graph, Node* before = nullptr, SizeValues* sizes = nullptr,
                   Method* method = nullptr);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Graph& graph() const { return *graph_; }
  // Returns the mutable value, for use in calls. Returns null for null; fails for a value of another graph.
  Value* own(const Value* value);
  std::vector<Value*> own(const std::vector<const Value*>& values);
  void inherit(const Node& node);  // source, debug handle and tag for the following nodes
  void inherit(const Builder& other);

  // Adds a call with one result. Arguments are in schema order; missing trailing ones take their defaults.
  Value* call(std::string_view op, std::initializer_list<BuilderArgument> args);
  Value* call(std::string_view op, std::span<const BuilderArgument> args);
  Value* call(std::string_view op, std::span<const Argument> args);  // arguments of an existing call
  // Adds a call with any number of results; returns an empty list after a failure.
  std::vector<Value*> call_all(std::string_view op, std::span<const BuilderArgument> args);
  std::vector<Value*> call_all(std::string_view op, std::initializer_list<BuilderArgument> args);
  std::vector<Value*> call_all(std::string_view op, std::span<const Argument> args);
  // Adds a call of an op without type inference, such as control flow; the results have the given types.
  std::vector<Value*> call_typed(std::string_view op, std::initializer_list<BuilderArgument> args,
                                 std::span<const Type> types);

  // Returns an empty graph to use as an argument: Argument::of(body). Fails and returns null without a
  // method.
  Graph* add_body(std::string_view name);

  // Calls aten.view.default; returns `x` itself if it already has these sizes.
  Value* view(Value* x, const Dims& sizes);

  // Returns a size as an argument: an Int, or the value of a node that computes the expression.
  Argument size(const SymInt& value);
  // Returns the known bounds of a size.
  Range range_of(const SymInt& size) const;

  // Runs `rule`, a function without arguments that builds with this builder, and returns its Result. If the
  // builder fails, skips the rest of the rule and returns the builder's first error instead.
  template <typename Rule>
  auto run(Rule&& rule) -> decltype(rule()) {
    const Leaving leaving(*this);
    try {
      if (!failed()) {
        auto result = rule();
        if (!failed() || !result) return result;
      }
    } catch (const RuleLeft&) {  // status_ holds the error
    }
    return Failure(Diagnostic(status_.error()));
  }

  // Records `diagnostic` unless the builder has failed before.
  void fail(Diagnostic diagnostic);
  bool failed() const { return !status_.has_value(); }
  const Status& status() const { return status_; }

 private:
  // Thrown by fail() inside run(), and caught there.
  struct RuleLeft {};
  struct Leaving {
    explicit Leaving(Builder& builder) : leaves(builder.leaves_rules_), before(leaves) { leaves = true; }
    ~Leaving() { leaves = before; }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;
    bool& leaves;
    bool before;
  };

  Argument make_argument(const BuilderArgument& argument);
  std::vector<Value*> add_node(std::string_view op, std::span<const Argument> args);
  std::vector<Value*> add_node(const OpDef& def, std::span<const Argument> args,
                               std::span<const NamedArgument> kwargs, std::span<const Type> types);

  Graph* graph_;
  Node* before_;
  SizeValues* sizes_;
  Method* method_ = nullptr;
  std::unique_ptr<SizeValues> own_sizes_;  // used if the caller gave no table
  Name tag_;
  NodeOrigin origin_;
  std::span<const NodeOrigin> replaced_;
  Status status_;
  bool leaves_rules_ = false;  // run() is running
};

// Returns a replacement by one value.
inline Replacement one(Value* value) {
  return std::vector<Value*>{value};
}

}  // namespace depute
