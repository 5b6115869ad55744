// Computes positions, and masks that compare them, from as few ranges as possible, and nothing that is the same for
// all sizes.
//
//   %a: i64[s] = aten.arange.start_step(0, %s)
//   %b: i64[n, s] = aten.expand.default(%a, [%n, -1])
//   %c: i64[n, s] = aten.cumsum.default(%ones, 1)
//   %d: bool[n, s] = aten.gt.Tensor(%c, %b)               is true: i + 1 > i
//
// Masks of a causal attention become arithmetic on floats, which backends take with the attention:
//
//   where(j <= i, 0.0, -1e30)     ->     clamp(i - j, -1, 0) * 1e30
//
// A tensor that is the same along a dimension is computed once along it, and expanded where an op needs the whole.
#include <cmath>

#include "depute/program/builder.h"
#include "kernels/tensors.h"
#include "normalize/pass_error.h"
#include "normalize/passes.h"
#include "normalize/sizes/positions.h"
#include "ops/control/size_values.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view conversion = "dim_order_ops._to_dim_order_copy.default";
constexpr std::int64_t max_exact = std::int64_t{1} << 24;  // integers that f32 holds

bool is_op(const Value* value, std::string_view op) {
  return value != nullptr && value->producer() != nullptr && value->producer()->op() == op;
}

class PositionSimplifier {
 public:
  PositionSimplifier(Program& program, Method& method, Graph& graph)
      : method_(method), graph_(graph), facts_(program, method, graph), sizes_(graph, &program.ranges) {}

  Status run() {
    for (Node& node : graph_.nodes()) {
      if (node.def() == nullptr || node.results().size() != 1 || !node.result()->type().is_tensor()) continue;
      Builder b(graph_, &node, &sizes_, &method_);
      b.inherit(node);
      Value* simpler = simplified(b, node);
      if (simpler == nullptr || b.failed()) continue;  // a size may not be known here
      graph_.replace_uses(*node.result(), simpler);
      graph_.erase(node);
    }
    return {};
  }

 private:
  // Returns a value that the node's result equals, or null.
  Value* simplified(Builder& b, Node& node) {
    const TensorType& type = node.result()->tensor();
    const std::optional<Positions> known = facts_.find(node);
    if (known) {
      facts_.add(*node.result(), *known);
      if (is_simple(node)) return nullptr;
      Value* narrow =
          known->is_uniform() || known->only_dim() ? made(b, *known, type.sizes, type.dtype) : nullptr;
      if (narrow != nullptr) return widened(b, narrow, type, &*known);
    }
    const OpCall call(node);
    const std::string_view op = node.op().str();
    Value* narrow = nullptr;
    if (op == "aten.embedding.default") narrow = rows(b, *call.value("weight"), *call.value("indices"));
    const bool reads_rows =
        op == "aten.index_select.default" && call["dim"].is_int() && call.integer("dim") == 0;
    if (reads_rows && call.tensor("self").rank() == 2)
      narrow = rows(b, *call.value("self"), *call.value("index"));
    const bool is_bool = type.dtype == ScalarType::Bool && !known;
    if (op == "aten.expand.default" && is_bool) narrow_.emplace(node.result(), b.own(call.value("self")));
    if (op == conversion && type.dtype == ScalarType::F32) {
      if (const Positions* held = small(call[0], type.sizes))
        narrow = made(b, *held, type.sizes, ScalarType::F32);
    }
    if (op == "aten.where.self") narrow = choice(b, call);
    if (narrow != nullptr) return widened(b, narrow, type, nullptr);
    if (Value* other = undecided(b, call)) return other;
    const bool is_pointwise = node.def()->is(OpFlag::Pointwise) || op == conversion;
    return is_pointwise && node.def()->is_pure() ? computed_narrowly(b, call, known ? &*known : nullptr)
                                                 : nullptr;
  }

  // True for a range or number, and for a view of one or of a constant.
  static bool is_simple(const Node& node) {
    const auto is_made = [](const Node* maker) {
      return maker == nullptr || maker->op() == "aten.arange.start_step" ||
             maker->op() == "aten.full.default";
    };
    if (is_made(&node)) return true;
    return node.def()->view_kind != ViewKind::None && node.op() != "aten.expand.default" &&
           is_made(node.operand(0)->producer());
  }

  // Builds the positions with sizes of 1 where they are the same. Null if that takes more than a range and a view,
  // or, for floats, a product and a sum.
  static Value* made(Builder& b, const Positions& positions, const Dims& sizes, ScalarType dtype) {
    if (!positions.start.is_constant()) return nullptr;
    const std::int64_t start = positions.start.value();
    Dims narrow(sizes.size(), SymInt(1));
    const std::optional<std::size_t> dim = positions.only_dim();
    if (!dim) {
      const Argument number = dtype == ScalarType::Bool ? Argument::of(start != 0) : Argument::of(start);
      return b.call("aten.full.default", {narrow, number, dtype});
    }
    const std::int64_t step = positions.steps[*dim];
    if (dtype != ScalarType::F32 && (start != 0 || step != 1)) return nullptr;
    narrow[*dim] = sizes[*dim];
    Value* line = b.call("aten.arange.start_step", {0, b.size(sizes[*dim]), 1, dtype});
    if (b.failed()) return nullptr;
    Value* made = b.view(line, narrow);
    if (step != 1) made = b.call("aten.mul.Scalar", {made, step});
    return start == 0 ? made : b.call("aten.add.Scalar", {made, start});
  }

  // Expands `narrow` to the type, and keeps in mind what it was expanded from.
  Value* widened(Builder& b, Value* narrow, const TensorType& type, const Positions* known) {
    if (b.failed()) return nullptr;
    if (known != nullptr) facts_.add(*narrow, *known);
    if (narrow->tensor().sizes == type.sizes) return narrow;
    Value* wide = b.call("aten.expand.default", {narrow, type.sizes});
    if (b.failed()) return nullptr;
    if (known != nullptr) facts_.add(*wide, *known);
    narrow_.emplace(wide, narrow);
    return wide;
  }

  // Repeats a pointwise call on what its operands were expanded from.
  Value* computed_narrowly(Builder& b, const OpCall& call, const Positions* known) {
    const TensorType& type = call.node()->result()->tensor();
    std::vector<BuilderArgument> args;
    bool is_narrower = false;
    for (const Argument& argument : call.args()) {
      const auto entry = argument.is_value() ? narrow_.find(argument.as_value()) : narrow_.end();
      is_narrower |= entry != narrow_.end();
      if (entry == narrow_.end())
        args.emplace_back(argument);
      else
        args.emplace_back(entry->second);
    }
    return is_narrower ? widened(b, b.call(call.def().name.str(), args), type, known) : nullptr;
  }

  // Returns the operand that an `and` or `or` with a constant leaves as it is, and the one that a `where` with a
  // constant condition chooses.
  Value* undecided(Builder& b, const OpCall& call) {
    const std::string_view op = call.def().name.str();
    const bool is_choice = op == "aten.where.self";
    const bool is_and = op == "aten.bitwise_and.Tensor" || op == "aten.logical_and.default";
    if (!is_choice && !is_and && op != "aten.bitwise_or.Tensor" && op != "aten.logical_or.default")
      return nullptr;
    const Type& type = call.node()->result()->type();
    for (const std::size_t i : {0, 1}) {
      if (!call[i].is_value() || (is_choice && i == 1)) continue;
      const Positions* known = facts_.of(*call[i].as_value());
      const bool is_truth =
          call[i].as_value()->type().is_tensor() && call[i].as_value()->tensor().dtype == ScalarType::Bool;
      if (known == nullptr || !is_truth || !known->is_uniform() || !known->start.is_constant()) continue;
      const bool is_true = known->start.value() != 0;
      const Argument& other = call[is_choice ? (is_true ? 1 : 2) : 1 - i];
      if ((!is_choice && is_true != is_and) || !other.is_value()) continue;
      const Value* kept = other.as_value();
      if (!kept->type().is_tensor() || kept->tensor().dtype != type.tensor.dtype) continue;
      if (kept->type() == type) return b.own(kept);
      return widened(b, b.own(kept), type.tensor, nullptr);
    }
    return nullptr;
  }

  // Returns the consecutive rows of a table, or the row, that all indices name.
  Value* rows(Builder& b, const Value& table, const Value& indices) {
    const Positions* known = facts_.of(indices);
    if (known == nullptr || table.producer() != nullptr || !known->start.is_constant()) return nullptr;
    const Dims& sizes = indices.tensor().sizes;
    const std::optional<std::size_t> dim = known->only_dim();
    if ((!dim && !known->is_uniform()) || (dim && known->steps[*dim] != 1)) return nullptr;
    const SymInt start = known->start, count = dim ? sizes[*dim] : SymInt(1), end = start + count;
    const SymInt& all = table.tensor().sizes[0];
    if (!all.is_constant() || start.value() < 0 || b.range_of(end).max > all.value()) return nullptr;
    Dims narrow(sizes.size(), SymInt(1));
    if (dim) narrow[*dim] = count;
    narrow.push_back(table.tensor().sizes[1]);
    Value* part = b.call("aten.slice.Tensor", {&table, 0, start.value(), b.size(end)});
    return b.failed() ? nullptr : b.view(part, narrow);
  }

  // Returns positions that f32 holds, of less than all elements, or null.
  const Positions* small(const Argument& operand, const Dims& sizes) {
    const Positions* known = operand.is_value() ? facts_.of(*operand.as_value()) : nullptr;
    if (known == nullptr || known->steps.size() != sizes.size() ||
        (!known->is_uniform() && !known->only_dim()))
      return nullptr;
    const Range range = facts_.range_of(*known, sizes);
    return -max_exact < range.min && range.max < max_exact ? known : nullptr;
  }

  // --- masks

  // Returns 0 where a comparison of positions, or an `and` of such, holds and -1 elsewhere, or null.
  Value* truth(Builder& b, const Value* condition, bool negated) {
    const auto entry = narrow_.find(condition);
    if (entry != narrow_.end()) condition = entry->second;
    const Node* node = condition->producer();
    if (node == nullptr || node->def() == nullptr) return nullptr;
    const OpCall call(*node);
    const std::string_view op = node->op().str();
    if (!negated && (op == "aten.bitwise_and.Tensor" || op == "aten.logical_and.default")) {
      if (!call[0].is_value() || !call[1].is_value()) return nullptr;
      Value* first = truth(b, call[0].as_value(), false);
      Value* second = first == nullptr ? nullptr : truth(b, call[1].as_value(), false);
      return second == nullptr ? nullptr : b.call("aten.minimum.default", {first, second});
    }
    const bool is_less = op == "aten.le.Tensor" || op == "aten.lt.Tensor";
    if (!is_less && op != "aten.ge.Tensor" && op != "aten.gt.Tensor") return nullptr;
    const bool is_strict = (op == "aten.lt.Tensor" || op == "aten.gt.Tensor") != negated;
    const Dims& sizes = condition->tensor().sizes;
    const Positions *above = small(call[0], sizes), *below = small(call[1], sizes);
    if (above == nullptr || below == nullptr) return nullptr;
    if (is_less != negated) std::swap(above, below);
    return difference(b, *above, *below, is_strict ? -1 : 0, sizes);
  }

  // Returns 0 where `above` less `below` and more is not negative, and -1 elsewhere.
  static Value* difference(Builder& b, Positions above, Positions below, std::int64_t more,
                           const Dims& sizes) {
    const SymInt offset = above.start - below.start + SymInt(more);
    above.start = below.start = 0;
    Value* apart = b.call("aten.sub.Tensor",
                          {made(b, above, sizes, ScalarType::F32), made(b, below, sizes, ScalarType::F32)});
    if (!offset.is_constant()) return nullptr;
    if (offset != 0) apart = b.call("aten.add.Scalar", {apart, offset.value()});
    return b.call("aten.clamp.default", {apart, -1, 0});
  }

  // The number that a value consists of.
  std::optional<double> number(const Argument& argument) const {
    if (argument.is_number()) return argument.as_double();
    if (!argument.is_value() || !argument.as_value()->type().is_tensor()) return std::nullopt;
    const Value* value = argument.as_value();
    const auto entry = narrow_.find(value);
    if (entry != narrow_.end()) value = entry->second;
    for (const std::string_view op :
         {"aten.full.default", "aten.full_like.default", "aten.scalar_tensor.default"}) {
      if (!is_op(value, op)) continue;
      const OpCall call(*value->producer());
      const Argument& given = call[op == "aten.scalar_tensor.default" ? "s" : "fill_value"];
      return given.is_number() ? std::optional(given.as_double()) : std::nullopt;
    }
    const TensorData* data = facts_.constant(*value);
    if (data == nullptr || value->tensor().static_numel() != 1) return std::nullopt;
    return internal::Elements<double>(*data)[0];
  }

  // Computes a mask of 0 and a negative number without a bool.
  Value* choice(Builder& b, const OpCall& call) {
    if (call.node()->result()->tensor().dtype != ScalarType::F32) return nullptr;
    const std::optional<double> kept = number(call["self"]), other = number(call["other"]);
    if (!kept || !other || (*kept != 0 && *other != 0)) return nullptr;
    const double low = *kept == 0 ? *other : *kept;
    if (!(low < 0) || !std::isfinite(static_cast<float>(low))) return nullptr;
    Value* holds = truth(b, call.value("condition"), *kept != 0);
    return holds == nullptr ? nullptr : b.call("aten.mul.Scalar", {holds, -low});
  }

  Method& method_;
  Graph& graph_;
  PositionFacts facts_;
  SizeValues sizes_;
  std::unordered_map<const Value*, Value*> narrow_;  // by what it was expanded to
};

}  // namespace

// Afterwards positions that follow from sizes are ranges, and masks and sums of them have no repeated elements.
Status simplify_positions(Program& program, const NormalizeOptions&) {
  return for_each_graph(program, [&](Method& method, Graph& graph) {
    return PositionSimplifier(program, method, graph).run();
  });
}

}  // namespace depute
