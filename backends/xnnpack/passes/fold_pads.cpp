#include "passes/simplify.h"

namespace depute::xnnpack {
namespace {

// True if the pad adds only zeros around the last two of four dimensions.
bool is_spatial(const XnnNode& pad) {
  const auto& widths = pad.get<PadWidths>();
  if (widths.before.size() != 4 || widths.value != 0) return false;
  return (widths.before[0] | widths.before[1] | widths.after[0] | widths.after[1]) == 0;
}

}  // namespace

void fold_pads(XnnGraph& graph) {
  const GraphUses uses = find_uses(graph);
  for (XnnNode& node : graph.nodes) {
    if (node.kind != NodeKind::Conv2d && node.kind != NodeKind::DepthwiseConv2d) continue;
    const std::uint32_t index = uses.producer[node.inputs[0]];
    if (index == no_value) continue;
    const XnnNode& pad = graph.nodes[index];
    if (pad.kind != NodeKind::ConstantPad || !is_spatial(pad)) continue;
    const auto& widths = pad.get<PadWidths>();
    auto& window = std::get<Window>(node.params);
    window.padding_top += widths.before[2];
    window.padding_left += widths.before[3];
    window.padding_bottom += widths.after[2];
    window.padding_right += widths.after[3];
    node.inputs[0] = pad.inputs[0];
    merge_handles(node.handles, pad.handles);
  }
  remove_unused(graph);
}

}  // namespace depute::xnnpack
