// Group normalization as several nodes, in any layout of the channels. Means over the image come first; the
// means over the channels of a group are then small.
//
//   y = (x - mean) * (rsqrt(variance + eps) * weight) + bias      mean, variance: one per image and group
#include <fmt/format.h>

#include "emitter.h"
#include "node_query.h"
#include "reductions.h"

namespace depute::xnnpack::ops {
namespace {

Check check_group_norm(const NodeQuery& node) {
  const TensorType& input = node.tensor("input");
  if (!node.call["group"].is_int()) return refuse_argument(node, "group", "a number");
  const std::int64_t groups = node.call["group"].as_int();
  const SymInt& channels = input.sizes[1];
  if (!channels.is_constant() || groups < 1 || channels.value() % groups != 0)
    return refuse_argument(node, "group", fmt::format("a divisor of {}", channels.str()));
  return {};
}

class GroupNorm {
 public:
  GroupNorm(Emitter& emit, const OpCall& call) : emit_(emit), call_(call), x_(emit.input(call, "input")) {
    const Dims& sizes = emit.sizes(x_);
    const std::int64_t groups = call["group"].as_int();
    grouped_ = {sizes[0], groups, sizes[1].value() / groups};
    per_channel_ = Dims(sizes.size(), SymInt(1));
    per_channel_[0] = sizes[0];
    per_channel_[1] = sizes[1];
  }

  ValueId run() {
    using enum NodeKind;
    const ValueId centered = emit_.add(Subtract, {x_, to_channels(group_mean(x_))});
    const ValueId variance = group_mean(emit_.add(Square, {centered}));
    const ValueId shifted = emit_.add(Add, {variance, emit_.number(call_["eps"].as_double(), variance)});
    ValueId factor = to_channels(emit_.add(ReciprocalSquareRoot, {shifted}));
    if (ValueId weight = emit_.optional_input(call_, "weight"); weight != no_value)
      factor = emit_.add(Multiply, {factor, one_per_channel(weight)});
    ValueId y = emit_.add(Multiply, {centered, factor});
    if (ValueId bias = emit_.optional_input(call_, "bias"); bias != no_value)
      y = emit_.add(Add, {y, one_per_channel(bias)});
    return y;
  }

 private:
  // [n, groups, 1]
  ValueId group_mean(ValueId x) {
    std::vector<std::uint32_t> space;
    for (std::uint32_t dim = 2; dim < emit_.rank(x); ++dim) {
      if (!(emit_.sizes(x)[dim] == 1)) space.push_back(dim);
    }
    const ValueId means = emit_.reshape(reduce_mean(emit_, x, space), grouped_);
    if (grouped_[2] == 1) return means;
    return reduce_mean(emit_, means, {2});
  }

  // [n, groups, 1] -> [n, c, 1, 1]
  ValueId to_channels(ValueId x) { return emit_.reshape(emit_.expand(x, grouped_), per_channel_); }

  // [c] -> [1, c, 1, 1]
  ValueId one_per_channel(ValueId x) {
    Dims sizes = per_channel_;
    sizes[0] = 1;
    return emit_.reshape(x, sizes);
  }

  Emitter& emit_;
  const OpCall& call_;
  ValueId x_;
  Dims grouped_;      // [n, groups, channels of each]
  Dims per_channel_;  // [n, c, 1, 1]
};

void translate_group_norm(Emitter& emit, const OpCall& call) {
  emit.result(GroupNorm(emit, call).run());
}

}  // namespace

std::span<const OpRule> group_norm() {
  static constexpr Limit limits[] = {limit::ranks("input", 3, 5), limit::dtype("input", ScalarType::F32),
                                     limit::number("eps"), limit::one_open_size("input"),
                                     limit::first_result_alone()};
  static constexpr OpRule rules[] = {
      {.op = "aten.native_group_norm.default",
       .conditions = "group divides the channels",
       .forms = {limits},
       .check = check_group_norm,
       .translate = translate_group_norm},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
