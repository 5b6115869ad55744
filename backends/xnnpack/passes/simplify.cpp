#include "passes/simplify.h"

#include <algorithm>

#include "node_query.h"
#include "payload/packed_weights.h"

namespace depute::xnnpack {
namespace {

bool has_node(const XnnGraph& graph, NodeKind kind) {
  return std::ranges::any_of(graph.nodes, [kind](const XnnNode& node) { return node.kind == kind; });
}

// True if a Reshape has more than the one dynamic size that the runtime can infer.
bool has_open_reshape(const XnnGraph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const XnnNode& node) {
    return node.kind == NodeKind::Reshape && symbolic_count(graph.values[node.output].sizes) > 1;
  });
}

bool has_quantized_weight(const XnnGraph& graph) {
  return std::ranges::any_of(
      graph.values, [](const XnnValue& value) { return value.constant && value.constant->is_quantized(); });
}

}  // namespace

// Skips passes that have no nodes to work on.
void simplify(XnnGraph& graph) {
  remove_unused(graph);
  if (has_node(graph, NodeKind::Expand)) {
    share_heads(graph);
    drop_expands(graph);
  }
  fold_affine(graph);
  fuse_clamps(graph);
  fold_pads(graph);
  if (has_node(graph, NodeKind::Softmax)) split_attention(graph);
  if (has_open_reshape(graph)) move_ones(graph);
  if (has_node(graph, NodeKind::Convert)) fuse_quantization(graph);
  if (has_quantized_weight(graph)) pack_weights(graph);
  if (has_node(graph, NodeKind::ConvTranspose2d)) multiply_blocks(graph);
  if (has_node(graph, NodeKind::Slice)) hoist_unaries(graph);
  if (has_node(graph, NodeKind::Multiply)) halve_tables(graph);
  remove_unused(graph);
}

}  // namespace depute::xnnpack
