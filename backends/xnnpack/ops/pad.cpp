// Pads with a constant; negative widths crop. fold_pads.cpp folds zeros into the following convolution.
#include <algorithm>

#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

// Number of elements added (or cropped, if negative) before and after each dimension.
struct Widths {
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> after;
};

// The argument's pairs start with the last dimension.
Widths widths_of(const OpCall& call, std::size_t rank) {
  Widths widths{std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 0)};
  const std::vector<std::int64_t> pad = call.ints("pad");
  for (std::size_t i = 0; 2 * i < pad.size(); ++i) {
    widths.before[rank - 1 - i] = pad[2 * i];
    widths.after[rank - 1 - i] = pad[2 * i + 1];
  }
  return widths;
}

Check check_pad(const NodeQuery& node) {
  const Dims& sizes = node.tensor("self").sizes;
  const std::size_t numbers = node.call.ints("pad").size();
  if (numbers % 2 != 0 || numbers / 2 > sizes.size())
    return refuse_argument(node, "pad", "a pair for each of the last dimensions");
  const Widths widths = widths_of(node.call, sizes.size());
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    const bool is_cut = widths.before[dim] < 0 || widths.after[dim] < 0;
    if (is_cut && !sizes[dim].is_constant())
      return refuse_argument(node, "pad", "not negative for a dynamic size");
  }
  return {};
}

void pad(Emitter& emit, const OpCall& call) {
  ValueId x = emit.input(call, "self");
  const Widths widths = widths_of(call, emit.rank(x));
  PadWidths pad;
  pad.value = static_cast<float>(call["value"].as_double());
  bool is_padded = false;
  for (std::size_t dim = 0; dim < widths.before.size(); ++dim) {
    const std::int64_t before = widths.before[dim];
    const std::int64_t after = widths.after[dim];
    const std::int64_t cut_before = std::max<std::int64_t>(-before, 0);
    const std::int64_t cut_after = std::max<std::int64_t>(-after, 0);
    if (cut_before + cut_after > 0) {
      x = emit.slice(x, dim, cut_before, emit.sizes(x)[dim].value() - cut_before - cut_after);
    }
    pad.before.push_back(static_cast<std::uint32_t>(std::max<std::int64_t>(before, 0)));
    pad.after.push_back(static_cast<std::uint32_t>(std::max<std::int64_t>(after, 0)));
    is_padded = is_padded || before > 0 || after > 0;
  }
  if (is_padded) x = emit.add_sized(NodeKind::ConstantPad, {x}, emit.result_sizes(), std::move(pad));
  emit.result(x);
}

}  // namespace

std::span<const OpRule> pad() {
  static constexpr Limit limits[] = {limit::ints("pad"), limit::number("value")};
  static constexpr OpRule rules[] = {
      {.op = "aten.constant_pad_nd.default",
       .conditions = "no negative width of a size known only at run time",
       .forms = {limits},
       .op_class = OpClass::Move,
       .check = check_pad,
       .translate = pad},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
