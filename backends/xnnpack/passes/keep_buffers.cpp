// The runtime computes an elementwise node in place if its operand and its result have as many bytes when its memory
// is planned, which is in the first run. In ExecuTorch 1.4.1 this stays so when a later run has other sizes, and a
// result that has become larger than its operand overwrites what lies behind it:
//
//   Subtract(x[b, 8], mean[1, 8])    in place of mean in a first run with b = 1; wrong for b = 4
//   Multiply(x[u, 8], scale[u, 1])   in place of scale in a first run with u = 0
//
// The runtime takes the first operand that fits, so an operand of the result's sizes protects the ones behind it. A
// result with two readers is not computed in place.
#include <utility>

#include "passes/simplify.h"

namespace depute::xnnpack {
namespace {

bool is_commutative(NodeKind kind) {
  using enum NodeKind;
  return kind == Add || kind == Multiply || kind == Minimum || kind == Maximum;
}

class BufferKeeper {
 public:
  explicit BufferKeeper(XnnGraph& graph) : graph_(graph), uses_(find_uses(graph)) {}

  void run() {
    std::vector<XnnNode> nodes = std::exchange(graph_.nodes, {});
    graph_.nodes.reserve(nodes.size());
    for (XnnNode& node : nodes) {
      if (is_overwriting(node)) {
        keep(std::move(node));
      } else {
        graph_.nodes.push_back(std::move(node));
      }
    }
  }

 private:
  const Dims& sizes(ValueId id) const { return graph_.values[id].sizes; }

  // True if the runtime allocates the value's memory and may give it to its only reader's result.
  bool is_reusable(ValueId id) const {
    const XnnValue& value = graph_.values[id];
    return !value.constant && !value.is_input && !value.is_output && uses_.count[id] <= 1;
  }

  // Compares bytes.
  Fit fit(ValueId operand, ValueId result) const {
    const Fit counts = fit_of(sizes(operand), sizes(result), graph_.ranges);
    const bool is_narrower = item_size(graph_.values[operand].dtype) < item_size(graph_.values[result].dtype);
    if (counts != Fit::Always || !is_narrower) return counts;
    return may_be_empty(sizes(result), graph_.ranges) ? Fit::ForSomeSizes : Fit::Never;
  }

  // A clamped result is that of a second node of the runtime.
  bool is_overwriting(const XnnNode& node) const {
    if (!is_unary(node.kind) && !is_binary(node.kind)) return false;
    if (!is_reusable(node.output) && !node.is_clamped()) return false;
    for (ValueId operand : node.inputs) {
      const Fit found = is_reusable(operand) ? fit(operand, node.output) : Fit::Never;
      if (found != Fit::Never) return found == Fit::ForSomeSizes;
    }
    return false;
  }

  void keep(XnnNode node) {
    const auto is_whole = [&](ValueId operand) { return fit(operand, node.output) == Fit::Always; };
    if (is_commutative(node.kind) && is_whole(node.inputs[1])) std::swap(node.inputs[0], node.inputs[1]);
    ValueId& first = node.inputs[0];
    if (!is_whole(first)) return give_two_readers(std::move(node));
    if (!is_reusable(first)) first = add_like(first, plain_copy(graph_, node, first));
    graph_.nodes.push_back(std::move(node));
  }

  // m - a  ->  copy of (m - a), Maximum(m - a, copy), Clamp
  void give_two_readers(XnnNode node) {
    const ValueId result = node.output;
    XnnNode clamp = node_for(node, NodeKind::Clamp, {}, no_value);
    std::swap(clamp.output_min, node.output_min);
    std::swap(clamp.output_max, node.output_max);
    const ValueId first = add_like(result, node);
    const ValueId copy = add_like(result, plain_copy(graph_, node, first));
    XnnNode same = node_for(node, NodeKind::Maximum, {first, copy}, result);
    if (!clamp.is_clamped()) {
      graph_.nodes.push_back(std::move(same));
      return;
    }
    clamp.inputs = {add_like(result, std::move(same))};
    clamp.output = result;
    graph_.nodes.push_back(std::move(clamp));
  }

  ValueId add_like(ValueId like, XnnNode node) {
    node.output = graph_.add_value_like(like, Dims(sizes(like)));
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().output;
  }

  XnnGraph& graph_;
  const GraphUses uses_;
};

}  // namespace

void keep_buffers(XnnGraph& physical) {
  if (!physical.ranges.empty()) BufferKeeper(physical).run();
}

}  // namespace depute::xnnpack
