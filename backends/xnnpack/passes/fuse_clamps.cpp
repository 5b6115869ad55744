#include <algorithm>

#include "passes/simplify.h"

namespace depute::xnnpack {

void fuse_clamps(XnnGraph& graph) {
  GraphUses uses = find_uses(graph);
  for (XnnNode& node : graph.nodes) {
    if (node.kind != NodeKind::Clamp) continue;
    const ValueId input = node.inputs[0];
    const std::uint32_t index = uses.producer[input];
    if (index == no_value || uses.count[input] != 1 || !can_clamp(graph.nodes[index].kind)) continue;
    XnnNode& producer = graph.nodes[index];
    const float min = std::clamp(producer.output_min, node.output_min, node.output_max);
    const float max = std::clamp(producer.output_max, node.output_min, node.output_max);
    if (!(min < max)) continue;
    producer.output_min = min;
    producer.output_max = max;
    producer.output = node.output;
    merge_handles(producer.handles, node.handles);
    uses.producer[node.output] = index;
    node.kind = NodeKind::None;
  }
  remove_unused(graph);
}

}  // namespace depute::xnnpack
