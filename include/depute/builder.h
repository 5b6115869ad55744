// Builds nodes whose result types come from the op table; what decompositions and passes write new code with.
//
//   Builder b(graph, &before);
//   b.inherit(node);  // source, debug handle and tag of what is being replaced
//   Value* y = b.call("aten.mul.Tensor", {x, b.call("aten.sigmoid.default", {x})});
//
// A call that does not type-check makes the builder fail: it is a bug of the caller's rule, or a program that
// torch would refuse too. The same holds for an op that is not known and for too many arguments. Later calls
// return null, and status() tells the first cause. A rule that run() calls never sees that null: run() leaves
// the rule at the failed call, so rules are written without a check on each line.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/op.h"

#pragma GCC visibility push(default)

namespace depute {

// An Argument made from what rules write: a value, a number, a bool, a list of ints or of values, none.
struct BuilderArgument {
  enum class Kind : std::uint8_t { Ready, Value, Ints, Values };
  Kind kind = Kind::Ready;
  Argument ready;
  const Value* single = nullptr;  // of the builder's graph; null is None
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

class SizeFacts;
struct Method;

// The values of a graph that hold symbolic sizes, so that a size is computed once. One per graph and walk.
//
// What depends on graph inputs alone is computed at the top of the graph and serves all later nodes. A size
// that some node computes (a number read from a tensor, say) serves the nodes behind it, so a walk that uses
// one table must go forward.
class SizeValues {
 public:
  // `ranges`, if given, tell more of the sizes of new nodes; they must outlive the table.
  explicit SizeValues(Graph& graph, const Ranges* ranges = nullptr);
  ~SizeValues();
  SizeValues(const SizeValues&) = delete;
  SizeValues& operator=(const SizeValues&) = delete;

  // Writes sizes as simply as the ranges allow.
  void simplify(Type& type);
  // What the ranges tell of a size; without ranges nothing of a symbolic one.
  Range range_of(const SymInt& size) const;

  // The value of `expr` for nodes before `before`; null when some symbol is not to be had. A node that is
  // made for it comes from `origin`, the first that needs the size.
  Value* find_or_build(const SymExpr* expr, Node* before, const NodeOrigin& origin);

 private:
  void scan();
  Value* find_or_build(const SymExpr* expr, Node* before);
  Value* add(std::string_view op, std::initializer_list<Argument> args, const SymExpr* expr, Node* before);
  Value* build_symbol(const SymExpr* expr, const Node* before);
  Value* size_of_result(const SymExpr* expr, const Node* before);
  Value* build_call(const SymExpr* expr, Node* before);
  Value* add_at_top(std::string_view op, std::initializer_list<Argument> args, const SymExpr* expr);

  Graph* graph_;
  std::unique_ptr<SizeFacts> facts_;  // null without ranges
  bool scanned_ = false;
  NodeOrigin origin_;
  Node* last_at_top_ = nullptr;
  std::unordered_map<const SymExpr*, Value*> values_;
  std::unordered_map<const SymExpr*, bool> from_inputs_;  // values_ that lie at the top of the graph
  struct InputSize {
    Value* input;
    std::int64_t dim;
    std::int64_t factor;  // the size is factor * symbol
  };
  std::unordered_map<const SymExpr*, InputSize> input_sizes_;  // by symbol
};

class Builder {
 public:
  // New nodes go before `before` (null: at the end). `sizes` may be shared by the builders of one walk.
  // `method`, if given, is the graph's own: it gets the bodies that are made here.
  explicit Builder(Graph& graph, Node* before = nullptr, SizeValues* sizes = nullptr,
                   Method* method = nullptr)
      : graph_(&graph), before_(before), sizes_(sizes), method_(method) {}

  Graph& graph() const { return *graph_; }
  // Returns a value of the call, to build with. Null stays null; a value of another graph is a failure.
  Value* own(const Value* value);
  std::vector<Value*> own(const std::vector<const Value*>& values);
  void inherit(const Node& node);  // source, debug handle and tag for the nodes to come
  void inherit(const Builder& other);

  // Arguments in schema order; missing trailing ones take their defaults. For one result.
  Value* call(std::string_view op, std::initializer_list<BuilderArgument> args);
  Value* call(std::string_view op, std::span<const BuilderArgument> args);
  Value* call(std::string_view op, std::span<const Argument> args);  // those of another call
  // For any number of results; empty after a failure.
  std::vector<Value*> call_all(std::string_view op, std::span<const BuilderArgument> args);
  std::vector<Value*> call_all(std::string_view op, std::initializer_list<BuilderArgument> args);
  std::vector<Value*> call_all(std::string_view op, std::span<const Argument> args);
  // A call of an op that tells no result types, such as control flow: the results have the given ones.
  std::vector<Value*> call_typed(std::string_view op, std::initializer_list<BuilderArgument> args,
                                 std::span<const Type> types);

  // An empty graph for a node to run: Argument::of(body). A builder without a method fails, and gives null.
  Graph* add_body(std::string_view name);

  // aten.view.default to these sizes; `x` itself when it has them already.
  Value* view(Value* x, const Dims& sizes);

  // A size as an argument: an Int, or the value of a node that computes the expression.
  Argument size(const SymInt& value);
  // The values that a size can have, as far as they are known.
  Range range_of(const SymInt& size) const;

  // Runs `rule`, a function without arguments that builds with this builder, and returns its Result. Returns
  // the first failure of the builder instead if there is one; the rest of the rule is then skipped.
  template <typename Rule>
  auto run(Rule&& rule) -> decltype(rule()) {
    const Leaving leaving(*this);
    try {
      if (!failed()) {
        auto result = rule();
        if (!failed() || !result) return result;
      }
    } catch (const RuleLeft&) {  // status_ tells why
    }
    return Failure(Diagnostic(status_.error()));
  }

  // Records the first failure.
  void fail(Diagnostic diagnostic);
  bool failed() const { return !status_.has_value(); }
  const Status& status() const { return status_; }

 private:
  // Thrown by fail() inside of run(), and caught there.
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
  std::unique_ptr<SizeValues> own_sizes_;  // when none were given
  Symbol tag_;
  NodeOrigin origin_;
  std::span<const NodeOrigin> replaced_;
  Status status_;
  bool leaves_rules_ = false;  // run() is running
};

// A replacement by one value.
inline Replacement one(Value* value) {
  return std::vector<Value*>{value};
}

}  // namespace depute

#pragma GCC visibility pop
