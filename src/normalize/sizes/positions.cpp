#include "normalize/sizes/positions.h"

#include <algorithm>

#include "depute/program/infer.h"
#include "kernels/tensors.h"
#include "ops/tensors/view_rules.h"

namespace depute {
namespace {

constexpr std::size_t max_constant = 1 << 16;  // elements of constants that are looked through
// Steps and factors beyond it are not followed, so that no product of two overflows.
constexpr std::int64_t max_step = std::int64_t{1} << 30;

bool is_counted(const TensorType& type) {
  return type.dtype == ScalarType::I64 || type.dtype == ScalarType::Bool;
}
bool is_small(std::int64_t number) {
  return -max_step <= number && number <= max_step;
}
Positions uniform(const SymInt& number, std::size_t rank) {
  return {number, std::vector<std::int64_t>(rank, 0)};
}
Positions sum(const Positions& a, const Positions& b, std::int64_t factor) {
  Positions result{a.start + b.start * SymInt(factor), a.steps};
  for (std::size_t i = 0; i < b.steps.size(); ++i) result.steps[i] += factor * b.steps[i];
  return result;
}
std::size_t rank_of(const OpCall& call) {
  return call.node()->result()->tensor().rank();
}
// The call's dimension; nullopt for a tensor without dimensions.
std::optional<std::size_t> dim_of(const OpCall& call, std::size_t rank) {
  const Result<std::size_t> dim = wrap_dim(call.integer("dim"), rank);
  return dim && *dim < rank ? std::optional(*dim) : std::nullopt;
}

// Returns the dimension of the result that each dimension of a view's operand becomes; nullopt for one of size 1
// that is gone, and no list if the view does more than add and drop sizes of 1.
using Places = std::vector<std::optional<std::size_t>>;
std::optional<Places> places_in_reshape(const Dims& from, const Dims& to) {
  Places places(from.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == 1) continue;
    while (next < to.size() && to[next] == 1) ++next;
    if (next == to.size() || to[next] != from[i]) return std::nullopt;
    places[i] = next++;
  }
  for (; next < to.size(); ++next)
    if (to[next] != 1) return std::nullopt;
  return places;
}
Positions placed(const Positions& positions, const Places& places, std::size_t rank) {
  Positions result = uniform(positions.start, rank);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i]) result.steps[*places[i]] = positions.steps[i];
  return result;
}

}  // namespace

bool Positions::is_uniform() const {
  return std::ranges::all_of(steps, [](std::int64_t step) { return step == 0; });
}

std::optional<std::size_t> Positions::only_dim() const {
  const auto has_step = [](std::int64_t step) { return step != 0; };
  if (std::ranges::count_if(steps, has_step) != 1) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::find_if(steps, has_step) - steps.begin());
}

const Positions* PositionFacts::of(const Value& value) {
  if (!value.type().is_tensor() || !is_counted(value.tensor())) return nullptr;
  auto entry = facts_.find(&value);
  if (entry == facts_.end() && value.producer() == nullptr)
    entry = facts_.emplace(&value, of_constant(value)).first;
  return entry == facts_.end() || !entry->second ? nullptr : &*entry->second;
}

const TensorData* PositionFacts::constant(const Value& value) const {
  const InputSpec* spec =
      value.producer() == nullptr && method_ != nullptr ? input_spec(*method_, value) : nullptr;
  if (spec == nullptr || !spec->has_data() || is_mutated(*method_, *spec)) return nullptr;
  const TensorData* data = constant_data(*program_, *method_, value);
  return data == nullptr || data->storage->is_elided() ? nullptr : data;
}

std::optional<Positions> PositionFacts::of_constant(const Value& value) const {
  const TensorData* data = constant(value);
  const std::optional<std::int64_t> count = value.tensor().static_numel();
  if (data == nullptr || !count || *count < 1 || *count > static_cast<std::int64_t>(max_constant))
    return std::nullopt;
  const internal::Elements<std::int64_t> elements(*data);
  const Dims& sizes = value.tensor().sizes;
  if (!std::ranges::all_of(elements, is_small)) return std::nullopt;
  Positions result = uniform(elements[0], sizes.size());
  std::vector<std::size_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (i + 1 < sizes.size()) strides[i] = strides[i + 1] * static_cast<std::size_t>(sizes[i + 1].value());
    if (sizes[i].value() > 1) result.steps[i] = elements[strides[i]] - elements[0];
  }
  for (std::size_t at = 0; at < elements.size(); ++at) {
    std::int64_t wanted = elements[0];
    for (std::size_t i = 0; i < sizes.size(); ++i)
      wanted += result.steps[i] *
                static_cast<std::int64_t>(at / strides[i] % static_cast<std::size_t>(sizes[i].value()));
    if (elements[at] != wanted) return std::nullopt;
  }
  return result;
}

Range PositionFacts::range_of(const Positions& positions, const Dims& sizes) const {
  SymInt least = positions.start, most = positions.start;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    SymInt& moved = positions.steps[i] < 0 ? least : most;
    if (positions.steps[i] != 0) moved = moved + (sizes[i] - 1) * SymInt(positions.steps[i]);
  }
  return {bounds(least, program_->ranges).min, bounds(most, program_->ranges).max};
}

std::optional<Positions> PositionFacts::broadcast(const Value& value, std::size_t rank) {
  const Positions* known = of(value);
  if (known == nullptr || known->steps.size() > rank) return std::nullopt;
  Positions result = uniform(known->start, rank - known->steps.size());
  result.steps.insert(result.steps.end(), known->steps.begin(), known->steps.end());
  return result;
}

std::optional<Positions> PositionFacts::operand(const Argument& argument, std::size_t rank) {
  if (argument.kind == Argument::Kind::Bool) return uniform(argument.as_bool() ? 1 : 0, rank);
  if (argument.is_int()) return uniform(argument.as_int(), rank);
  if (!argument.is_value()) return std::nullopt;
  const Value& value = *argument.as_value();
  return value.type().is_tensor() ? broadcast(value, rank)
                                  : std::optional(uniform(as_sym_int(argument), rank));
}

std::optional<Positions> PositionFacts::arithmetic(const OpCall& call) {
  const std::string_view op = call.def().name.str();
  const std::size_t rank = rank_of(call);
  auto a = operand(call[0], rank), b = operand(call[1], rank);
  if (!a || !b || call.node()->result()->tensor().dtype != ScalarType::I64) return std::nullopt;
  if (op.starts_with("aten.mul.")) {
    if (!b->is_uniform()) std::swap(a, b);
    if (!b->is_uniform() || !b->start.is_constant() || !is_small(b->start.value())) return std::nullopt;
    return sum(uniform(0, rank), *a, b->start.value());
  }
  const Argument& alpha = call["alpha"];
  if (!alpha.is_int() || !is_small(alpha.as_int())) return std::nullopt;
  return sum(*a, *b, op.starts_with("aten.sub.") ? -alpha.as_int() : alpha.as_int());
}

// Returns the left operand of a comparison less the right one.
std::optional<Positions> PositionFacts::difference(const OpCall& call) {
  const auto a = operand(call[0], rank_of(call)), b = operand(call[1], rank_of(call));
  return a && b ? std::optional(sum(*a, *b, -1)) : std::nullopt;
}

namespace {

// Returns whether all differences in the range compare as true, or all as false.
std::optional<bool> truth(std::string_view comparison, const Range& range) {
  const bool is_zero = range.min == 0 && range.max == 0, has_zero = range.min <= 0 && range.max >= 0;
  const auto decided = [](bool always, bool never) {
    return always ? std::optional(true) : never ? std::optional(false) : std::nullopt;
  };
  if (comparison == "eq") return decided(is_zero, !has_zero);
  if (comparison == "ne") return decided(!has_zero, is_zero);
  if (comparison == "lt") return decided(range.max < 0, range.min >= 0);
  if (comparison == "le") return decided(range.max <= 0, range.min > 0);
  if (comparison == "gt") return decided(range.min > 0, range.max <= 0);
  if (comparison == "ge") return decided(range.min >= 0, range.max < 0);
  return std::nullopt;
}
std::string_view comparison_of(const OpCall& call) {
  constexpr std::string_view space = "aten.";
  const std::string_view op = call.def().name.str();
  return op.starts_with(space) ? op.substr(space.size(), 2) : std::string_view();
}

}  // namespace

std::optional<Positions> PositionFacts::comparison(const OpCall& call) {
  const auto apart = difference(call);
  if (!apart) return std::nullopt;
  const auto known = truth(comparison_of(call), range_of(*apart, call.node()->result()->tensor().sizes));
  return known ? std::optional(uniform(*known ? 1 : 0, rank_of(call))) : std::nullopt;
}

std::optional<Positions> PositionFacts::logic(const OpCall& call) {
  const std::string_view op = call.def().name.str();
  const std::size_t rank = rank_of(call);
  if (call.node()->result()->tensor().dtype != ScalarType::Bool) return std::nullopt;
  const auto constant = [&](std::size_t i) -> std::optional<bool> {
    const auto known = operand(call[i], rank);
    if (!known || !known->is_uniform() || !known->start.is_constant()) return std::nullopt;
    return known->start.value() != 0;
  };
  const std::optional<bool> a = constant(0);
  if (op == "aten.logical_not.default" || op == "aten.bitwise_not.default")
    return a ? std::optional(uniform(*a ? 0 : 1, rank)) : std::nullopt;
  const std::optional<bool> b = constant(1);
  const bool deciding = op.find("_or.") != std::string_view::npos;  // what decides, whatever the other is
  if (a == deciding || b == deciding) return uniform(deciding ? 1 : 0, rank);
  return a && b ? std::optional(uniform(deciding ? 0 : 1, rank)) : std::nullopt;
}

std::optional<Positions> PositionFacts::view(const OpCall& call) {
  const std::string_view op = call.def().name.str();
  const Positions* known = call[0].is_value() ? of(*call[0].as_value()) : nullptr;
  if (known == nullptr) return std::nullopt;
  const Dims& from = call[0].as_value()->tensor().sizes;
  const Dims& to = call.node()->result()->tensor().sizes;
  if (known->is_uniform()) return uniform(known->start, to.size());
  if (op == "aten.expand.default") return operand(call[0], to.size());
  if (op == "aten.permute.default") {
    const auto order = internal::permutation(call);
    if (!order) return std::nullopt;
    Positions result = uniform(known->start, to.size());
    for (std::size_t i = 0; i < to.size(); ++i) result.steps[i] = known->steps[(*order)[i]];
    return result;
  }
  if (op == "aten.slice.Tensor" || op == "aten.select.int") {
    const std::optional<std::size_t> dim = dim_of(call, from.size());
    const bool is_slice = op == "aten.slice.Tensor";
    const Argument& first = call[is_slice ? "start" : "index"];
    const bool is_followed = !is_slice || (call["step"].is_int() && is_small(call.integer("step")));
    if (!dim || !is_followed || !(first.is_none() || first.is_int())) return std::nullopt;
    SymInt start = first.is_none() ? std::int64_t{0} : first.as_int();
    if (start.value() < 0) start = start + from[*dim];
    if (bounds(start, program_->ranges).min < 0) return std::nullopt;
    // A slice that starts behind the end is empty, and a select of nothing fails.
    Positions result{known->start + start * SymInt(known->steps[*dim]), known->steps};
    if (is_slice) result.steps[*dim] *= call.integer("step");
    if (!is_slice) result.steps.erase(result.steps.begin() + static_cast<std::ptrdiff_t>(*dim));
    return result;
  }
  const auto places = places_in_reshape(from, to);
  return places ? std::optional(placed(*known, *places, to.size())) : std::nullopt;
}

// Parts of a cat continue each other: each starts where the sum of all parts before it would go on.
std::optional<Positions> PositionFacts::joined(const OpCall& call) {
  const std::vector<const Value*> parts = call.values("tensors");
  const std::optional<std::size_t> dim = dim_of(call, rank_of(call));
  if (!dim) return std::nullopt;
  std::optional<Positions> whole;
  SymInt offset = 0;
  for (const Value* part : parts) {
    const Positions* known = of(*part);
    if (known == nullptr || known->steps.size() != rank_of(call)) return std::nullopt;
    const SymInt& size = part->tensor().sizes[*dim];
    if (!whole) {
      whole = *known;
    } else {
      Positions next = *known;
      // The step of a part with one element is free.
      const std::int64_t step = offset == 1 ? 0 : whole->steps[*dim];
      if (offset == 1) {
        const SymInt between = next.start - whole->start;
        if (!between.is_constant()) return std::nullopt;
        whole->steps[*dim] = between.value();
      } else if (next.start != whole->start + offset * SymInt(step)) {
        return std::nullopt;
      }
      if (size == 1) next.steps[*dim] = whole->steps[*dim];
      if (next.steps != whole->steps) return std::nullopt;
    }
    offset = offset + size;
  }
  return whole;
}

std::optional<Positions> PositionFacts::indexed(const OpCall& call) {
  const Positions* known = of(*call.value("self"));
  const std::size_t rank = rank_of(call);
  if (known == nullptr) return std::nullopt;
  if (known->is_uniform()) return uniform(known->start, rank);
  if (call.def().name != "aten.index.Tensor") return std::nullopt;
  const std::vector<const Value*> indices = call.values("indices");
  if (indices.size() != known->steps.size()) return std::nullopt;
  Positions result = uniform(known->start, rank);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == nullptr || indices[i]->tensor().dtype != ScalarType::I64) return std::nullopt;
    const auto index = broadcast(*indices[i], rank);
    if (!index || range_of(*index, call.node()->result()->tensor().sizes).min < 0) return std::nullopt;
    result = sum(result, *index, known->steps[i]);
  }
  return result;
}

// Reductions along one dimension: counts of ones, and whether some element of each row is true.
std::optional<Positions> PositionFacts::reduced(const OpCall& call) {
  const Value& self = *call.value("self");
  const TensorType& type = self.tensor();
  const std::optional<std::size_t> dim = dim_of(call, type.rank());
  if (!dim) return std::nullopt;
  const Positions* known = of(self);
  if (call.def().name == "aten.cumsum.default") {
    if (known == nullptr || !known->is_uniform() || !known->start.is_constant()) return std::nullopt;
    Positions result = *known;
    result.steps[*dim] = known->start.value();
    return call.node()->result()->tensor().dtype == ScalarType::I64 ? std::optional(result) : std::nullopt;
  }
  if (bounds(type.sizes[*dim], program_->ranges).min < 1) return std::nullopt;
  if (known != nullptr)
    return known->is_uniform() ? std::optional(uniform(known->start, rank_of(call))) : std::nullopt;
  // A row has a true element if its end with the least or the largest difference has one.
  const Node* compared = self.producer();
  if (compared != nullptr && compared->op() == "aten.expand.default")
    compared = compared->operand(0)->producer();
  if (compared == nullptr || compared->result()->tensor().rank() != type.rank() ||
      compared->def() == nullptr || !compared->def()->is(OpFlag::Pointwise))
    return std::nullopt;
  const OpCall inner(*compared);
  const std::string_view how = comparison_of(inner);
  if (how != "le" && how != "lt" && how != "ge" && how != "gt") return std::nullopt;
  auto apart = difference(inner);
  if (!apart) return std::nullopt;
  const bool wants_least = how == "le" || how == "lt";
  if ((apart->steps[*dim] < 0) == wants_least)
    apart->start = apart->start + (type.sizes[*dim] - 1) * SymInt(apart->steps[*dim]);
  apart->steps[*dim] = 0;
  const auto all = truth(how, range_of(*apart, type.sizes));
  return all == true ? std::optional(uniform(1, rank_of(call))) : std::nullopt;
}

std::optional<Positions> PositionFacts::find(const Node& node) {
  std::optional<Positions> found = find_unbounded(node);
  if (!found) return std::nullopt;
  for (std::size_t i = 0; i < found->steps.size(); ++i)
    if (node.result()->tensor().sizes[i] == 1) found->steps[i] = 0;
  const Range range = range_of(*found, node.result()->tensor().sizes);
  constexpr std::int64_t most = std::int64_t{1} << 62;  // sums beyond it could wrap around
  const bool fits = std::ranges::all_of(found->steps, is_small) && -most < range.min && range.max < most;
  return fits ? found : std::nullopt;
}

std::optional<Positions> PositionFacts::find_unbounded(const Node& node) {
  if (node.def() == nullptr || node.results().size() != 1 || !node.result()->type().is_tensor())
    return std::nullopt;
  const TensorType& type = node.result()->tensor();
  if (!is_counted(type)) return std::nullopt;
  const OpCall call(node);
  const std::string_view op = node.op().str();
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, op) != names.end();
  };
  if (op == "aten.full.default") {
    const Argument& fill = call["fill_value"];
    if (type.dtype != ScalarType::Bool) return operand(fill, type.rank());
    return fill.is_number() ? std::optional(uniform(fill.as_double() != 0 ? 1 : 0, type.rank()))
                            : std::nullopt;
  }
  if (op == "aten.arange.start_step") {
    const bool is_whole = !call["start"].is_number() || call["start"].is_int();
    if (!is_whole || !call["step"].is_int()) return std::nullopt;
    return Positions{as_sym_int(call["start"]), {call["step"].as_int()}};
  }
  if (is_one_of({"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.add.Scalar",
                 "aten.sub.Scalar", "aten.mul.Scalar"}))
    return arithmetic(call);
  if (is_one_of({"aten.bitwise_and.Tensor", "aten.bitwise_or.Tensor", "aten.logical_and.default",
                 "aten.logical_or.default", "aten.logical_not.default", "aten.bitwise_not.default"}))
    return logic(call);
  if (node.def()->is(OpFlag::Pointwise) && type.dtype == ScalarType::Bool && call.args().size() == 2)
    return comparison(call);
  if (is_one_of({"aten.expand.default", "aten.permute.default", "aten.slice.Tensor", "aten.select.int",
                 "aten.unsqueeze.default", "aten.squeeze.dims", "aten.view.default", "aten.clone.default",
                 "aten.alias.default"}))
    return view(call);
  if (op == "dim_order_ops._to_dim_order_copy.default") {
    const bool keeps = type.dtype == ScalarType::I64 || type.dtype == call.tensor("self").dtype;
    return keeps ? view(call) : std::nullopt;
  }
  if (op == "aten.cat.default") return joined(call);
  if (is_one_of({"aten.index.Tensor", "aten.gather.default", "aten.index_select.default"}))
    return indexed(call);
  if (is_one_of({"aten.cumsum.default", "aten.any.dim"})) return reduced(call);
  return std::nullopt;
}

}  // namespace depute
