// Resizes images: bilinear to a constant size, or nearest by integer factors.
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

// XNNPACK scales by the ratio of the sizes, so a scale factor that differs from this ratio is refused.
Check check_bilinear(const NodeQuery& node) {
  const TensorType& input = node.tensor("input");
  const Dims& result = node.result().sizes;
  if (!result[2].is_constant() || !result[3].is_constant()) {
    return Refusal{"dynamic-shape", sizes_text(result), "constant height and width"};
  }
  if (!node.has("scale_factors") || node.has("output_size") || node.call["align_corners"].as_bool())
    return {};
  std::size_t dim = 2;
  for (const Argument& factor : node.call["scale_factors"].as_list()) {
    const bool is_exact = input.sizes[dim].is_constant() &&
                          static_cast<double>(input.sizes[dim].value()) * factor.as_double() ==
                              static_cast<double>(result[dim].value());
    if (!is_exact) return refuse_argument(node, "scale_factors", "the ratio of the sizes");
    ++dim;
  }
  return {};
}

void bilinear(Emitter& emit, const OpCall& call) {
  const Dims& result = emit.result_sizes();
  const TargetSize size{static_cast<std::uint32_t>(result[2].value()),
                        static_cast<std::uint32_t>(result[3].value())};
  emit.result(emit.add_sized(NodeKind::ResizeBilinear, {emit.input(call, "input")}, result, size,
                             call["align_corners"].as_bool() ? align_corners : 0));
}

Check check_nearest(const NodeQuery& node) {
  const TensorType& input = node.tensor("input");
  const Dims& result = node.result().sizes;
  for (std::size_t dim = 2; dim < 4; ++dim) {
    const bool is_known =
        input.sizes[dim].is_constant() && result[dim].is_constant() && input.sizes[dim] != 0;
    if (is_known && result[dim].value() % input.sizes[dim].value() == 0) continue;
    return Refusal{"argument", sizes_text(result), "height and width that are multiples of the input's"};
  }
  return {};
}

// [n, c, h, w] -> [n, c, h, 1, w, 1] -> [n, c, h, r, w, r]
void nearest(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "input");
  const Dims s = emit.sizes(x);
  const Dims& result = emit.result_sizes();
  const SymInt rows = result[2].value() / s[2].value();
  const SymInt columns = result[3].value() / s[3].value();
  const ValueId apart = emit.reshape(x, {s[0], s[1], s[2], 1, s[3], 1});
  emit.result(emit.reshape(emit.expand(apart, {s[0], s[1], s[2], rows, s[3], columns}), result));
}

}  // namespace

std::span<const OpRule> upsample() {
  static constexpr Limit images[] = {limit::ranks("input", 4, 4)};
  static constexpr Limit batches[] = {limit::ranks("input", 4, 4), limit::one_open_size("input")};
  static constexpr OpRule rules[] = {
      {.op = "aten.upsample_bilinear2d.vec",
       .conditions = "constant height and width; scale factors equal to the ratio of the sizes",
       .forms = {images},
       .keep_whole = true,
       .check = check_bilinear,
       .translate = bilinear},
      {.op = "aten.upsample_nearest2d.vec",
       .conditions = "constant height and width, multiples of the input's",
       .forms = {batches},
       .check = check_nearest,
       .translate = nearest},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
