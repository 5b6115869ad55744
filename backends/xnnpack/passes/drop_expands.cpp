#include "emitter.h"
#include "passes/simplify.h"

namespace depute::xnnpack {
namespace {

// The batch dimensions of a matrix product's operand.
Dims batch_of(const Dims& sizes) {
  return Dims(sizes.begin(), sizes.end() - 2);
}

bool broadcasts_to(const XnnGraph& graph, const XnnNode& node, const std::vector<ValueId>& inputs) {
  const Dims& left = graph.values[inputs[0]].sizes;
  const Dims& right = graph.values[inputs[1]].sizes;
  const Dims& result = graph.values[node.output].sizes;
  if (is_binary(node.kind)) return broadcast_known(left, right) == result;
  if (left.size() < 2 || right.size() < 2) return false;
  return broadcast_known(batch_of(left), batch_of(right)) == batch_of(result);
}

// True if the last two sizes, the matrix, stay the same.
bool keeps_matrix(const Dims& from, const Dims& to) {
  const std::size_t n = from.size();
  const std::size_t m = to.size();
  return n >= 2 && m >= 2 && from[n - 1] == to[m - 1] && from[n - 2] == to[m - 2];
}

}  // namespace

void drop_expands(XnnGraph& graph) {
  // by value made by Expand: the value it expands
  std::vector<ValueId> source(graph.values.size(), no_value);
  for (XnnNode& node : graph.nodes) {
    if (node.kind == NodeKind::Expand) {
      const ValueId before = source[node.inputs[0]];
      source[node.output] = before != no_value ? before : node.inputs[0];
    }
    const bool is_product = node.kind == NodeKind::BatchMatrixMultiply;
    if (!is_binary(node.kind) && !is_product) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      const ValueId narrow = source[node.inputs[i]];
      if (narrow == no_value) continue;
      if (is_product && !keeps_matrix(graph.values[narrow].sizes, graph.values[node.inputs[i]].sizes))
        continue;
      std::vector<ValueId> inputs(node.inputs.begin(), node.inputs.end());
      inputs[i] = narrow;
      if (broadcasts_to(graph, node, inputs)) node.inputs[i] = narrow;
    }
  }
  remove_unused(graph);
}

}  // namespace depute::xnnpack
