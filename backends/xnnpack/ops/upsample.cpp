// Bilinear resizing to a constant size.
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

// XNNPACK scales by the ratio of the sizes; a factor that gives another ratio is not what the program asks
// for.
Check check_bilinear(const NodeQuery& node) {
  const TensorType& input = node.tensor("input");
  DEPUTE_REFUSE_IF(need_rank(input, 4, 4));
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

constexpr OpRule rules[] = {
    {.op = "aten.upsample_bilinear2d.vec",
     .conditions = "constant height and width; scale factors equal to the ratio of the sizes",
     .check = check_bilinear,
     .translate = bilinear},
};

}  // namespace

std::span<const OpRule> upsample() {
  return rules;
}

}  // namespace depute::xnnpack::ops
