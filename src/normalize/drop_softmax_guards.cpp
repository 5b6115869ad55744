// Removes guards of the softmax in masked attention. A fully masked row would give NaN, and PyTorch returns
// zeros for it. If the mask is constant, the pass checks that no row is fully masked.
//
//   %s = add(%scores, %mask)            with %mask a constant that leaves something in every row
//   %h = amax(%s, [-1], true)
//   %e = eq(%h, -inf)
//   %p = _softmax(%s, -1)
//   %w = where(%e, 0, %p)               uses of %w become uses of %p
//
//   %f = any.dim(%seen, -1, true)       with %seen the slice of a constant that has a true in every row
//   %g = to_f32(%f)
//   %w = mul(%p, %g)                    uses of %w become uses of %p
//
// A mask of zeros is removed as well. Products of finite numbers are assumed to be finite: a row of scores
// that overflows to -inf without the mask is not considered.
#include <algorithm>
#include <cmath>
#include <limits>

#include "depute/program/op.h"
#include "kernels/tensors.h"
#include "normalize/pass_error.h"
#include "normalize/passes.h"

namespace depute {
namespace {

const Node* producer_of(const Value* value, std::string_view op) {
  if (value == nullptr || value->producer() == nullptr || value->producer()->op() != op) return nullptr;
  return value->producer();
}

class GuardDropper {
 public:
  GuardDropper(const Program& program, const Method& method, Graph& graph)
      : program_(program), method_(method), graph_(graph) {}

  void run() {
    for (Node& node : graph_.nodes()) {
      if (node.op() == "aten.where.self") drop_choice(node);
      if (node.op() == "aten.mul.Tensor") drop_factor(node);
    }
  }

 private:
  const TensorData* constant(const Value* value) const {
    if (value == nullptr || value->producer() != nullptr) return nullptr;
    const InputSpec* spec = input_spec(method_, *value);
    if (spec == nullptr || !spec->has_data() || is_mutated(method_, *spec)) return nullptr;
    const TensorData* data = constant_data(program_, method_, *value);
    const bool is_readable =
        data != nullptr && !data->storage->is_elided() && internal::domain_of(data->type.dtype).has_value();
    return is_readable ? data : nullptr;
  }
  const TensorData* floating_constant(const Value* value) const {
    const TensorData* data = constant(value);
    return data != nullptr && is_floating(data->type.dtype) ? data : nullptr;
  }

  bool is_zero(const Argument& argument) const {
    if (argument.is_number()) return argument.as_double() == 0;
    const TensorData* data = argument.is_value() ? floating_constant(argument.as_value()) : nullptr;
    return data != nullptr && data->type.rank() == 0 && internal::Elements<float>(*data)[0] == 0;
  }

  // Returns the scores whose row maximum is compared with -inf.
  static const Value* guarded_scores(const Value* is_masked) {
    const Node* eq = producer_of(is_masked, "aten.eq.Scalar");
    if (eq == nullptr) return nullptr;
    OpCall compare(*eq);
    const Argument& limit = compare["other"];
    if (!limit.is_number() || limit.as_double() != -std::numeric_limits<double>::infinity()) return nullptr;
    const Node* amax = producer_of(compare.value("self"), "aten.amax.default");
    if (amax == nullptr) return nullptr;
    OpCall highest(*amax);
    const Value* scores = highest.value("self");
    const auto last = static_cast<std::int64_t>(scores->tensor().rank()) - 1;
    if (!highest.is_constant_ints("dim") || !highest.boolean("keepdim")) return nullptr;
    const std::vector<std::int64_t> dims = highest.ints("dim");
    return dims.size() == 1 && (dims[0] == -1 || dims[0] == last) ? scores : nullptr;
  }

  struct Mask {
    const Value* sum;
    const Value* scores;
    const TensorData* data;
  };

  // Returns the sum that computes `scores` if one of its operands is constant.
  std::optional<Mask> mask_of(const Value* scores) const {
    const Node* add = producer_of(scores, "aten.add.Tensor");
    if (add == nullptr) return std::nullopt;
    OpCall sum(*add);
    if (!sum["alpha"].is_number() || sum["alpha"].as_double() != 1) return std::nullopt;
    for (auto [mask, other] : {std::pair("other", "self"), std::pair("self", "other")}) {
      const TensorData* data = floating_constant(sum.value(mask));
      if (data != nullptr && sum.value(other) != nullptr) return Mask{add->result(), sum.value(other), data};
    }
    return std::nullopt;
  }

  void drop_choice(Node& where) {
    OpCall choice(where);
    const Value* weights = choice.value("other");
    const Node* softmax = producer_of(weights, "aten._softmax.default");
    const Value* scores = guarded_scores(choice.value("condition"));
    if (softmax == nullptr || scores == nullptr || !is_zero(choice["self"])) return;
    OpCall call(*softmax);
    const auto last = static_cast<std::int64_t>(scores->tensor().rank()) - 1;
    const bool is_same =
        call.value("self") == scores && (call.integer("dim") == -1 || call.integer("dim") == last);
    auto mask = mask_of(scores);
    if (!is_same || !mask || weights->type() != where.result()->type() || !leaves_something(*mask->data))
      return;
    graph_.replace_uses(*where.result(), graph_.own(*weights));
    graph_.erase(where);
    drop_zeros(*mask);
  }

  // Removes the factor f of weights * f, where f is 1 for rows that are not fully masked.
  void drop_factor(Node& product) {
    OpCall factors(product);
    const Value* weights = factors.value("self");
    const Node* softmax = producer_of(weights, "aten._softmax.default");
    if (softmax == nullptr || weights->type() != product.result()->type()) return;
    if (!is_one(factors.value("other"))) return;
    graph_.replace_uses(*product.result(), graph_.own(*weights));
    graph_.erase(product);
    if (auto mask = mask_of(OpCall(*softmax).value("self"))) drop_zeros(*mask);
  }

  bool is_one(const Value* factor) const {
    if (const TensorData* data = floating_constant(factor))
      return std::ranges::all_of(internal::Elements<float>(*data),
                                 [](float element) { return element == 1; });
    const Node* conversion = producer_of(factor, "dim_order_ops._to_dim_order_copy.default");
    const Node* any =
        conversion != nullptr ? producer_of(OpCall(*conversion).value("self"), "aten.any.dim") : nullptr;
    if (any == nullptr) return false;
    OpCall call(*any);
    const Value* seen = call.value("self");
    return call.integer("dim") == -1 && seen->tensor().rank() > 1 && sees_in_each_row(*seen);
  }

  // True if every row of a constant, or of a slice of one, has a true element.
  bool sees_in_each_row(const Value& seen) const {
    if (const Node* slice = producer_of(&seen, "aten.slice.Tensor")) {
      OpCall call(*slice);
      const Value* whole = call.value("self");
      const std::int64_t dim = call.integer("dim");
      return dim >= 0 && dim + 1 < static_cast<std::int64_t>(whole->tensor().rank()) &&
             sees_in_each_row(*whole);
    }
    const TensorData* data = constant(&seen);
    return data != nullptr && data->type.dtype == ScalarType::Bool &&
           each_row_has(*data, [](float element) { return element != 0; });
  }

  // True if every row has an element that is neither infinite nor NaN.
  static bool leaves_something(const TensorData& mask) {
    return each_row_has(mask, [](float element) { return std::isfinite(element); });
  }

  template <typename Test>
  static bool each_row_has(const TensorData& mask, Test&& test) {
    internal::Elements<float> elements(mask);
    const auto columns =
        mask.type.rank() == 0 ? std::size_t{1} : static_cast<std::size_t>(mask.type.sizes.back().value());
    if (columns == 0) return false;
    for (std::size_t start = 0; start < elements.size(); start += columns) {
      if (std::ranges::none_of(elements.span().subspan(start, columns), test)) return false;
    }
    return true;
  }

  // Replaces a sum with zeros by its other operand in the softmax and in the unused comparison.
  void drop_zeros(const Mask& mask) {
    if (mask.scores->type() != mask.sum->type()) return;
    internal::Elements<float> elements(*mask.data);
    if (std::ranges::any_of(elements.span(), [](float element) { return element != 0; })) return;
    for (const Use& use : mask.sum->uses()) {
      const std::string_view op = use.user()->op().str();
      if (use.user()->is_return() || (op != "aten._softmax.default" && op != "aten.amax.default")) return;
    }
    graph_.replace_uses(*graph_.own(*mask.sum), graph_.own(*mask.scores));
  }

  const Program& program_;
  const Method& method_;
  Graph& graph_;
};

}  // namespace

// Afterwards no softmax is guarded against fully masked rows if a constant mask has none.
Status drop_softmax_guards(Program& program, const NormalizeOptions&) {
  for (auto& method : program.methods) GuardDropper(program, *method, *method->graph).run();
  return {};
}

}  // namespace depute
