// Finds the preferred order of each value: goes backward through a logical graph and takes the order that
// most readers want. Nodes without a preference pass on the preference of their result, so that a transpose
// moves to its cheapest place.
//
//   x -> Clamp -> Conv2d          x: NHWC, Clamp's result: NHWC
#include <algorithm>

#include "passes/assign_layouts.h"

namespace depute::xnnpack {
namespace {

// By value: the dimension that would be innermost without any transposes.
std::vector<std::uint8_t> natural_innermost(const XnnGraph& graph) {
  std::vector<std::uint8_t> innermost(graph.values.size(), 0);
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const std::size_t rank = graph.values[id].sizes.size();
    innermost[id] = static_cast<std::uint8_t>(rank == 0 ? 0 : rank - 1);
  }
  for (const XnnNode& node : graph.nodes) {
    const std::uint8_t from = innermost[node.inputs[0]];
    const Dims& sizes = graph.values[node.inputs[0]].sizes;
    const Dims& result = graph.values[node.output].sizes;
    if (node.kind == NodeKind::Transpose) {
      innermost[node.output] = inverse(node.get<Order>())[from];
    } else if (is_unary(node.kind) && !sizes.empty()) {
      innermost[node.output] = from;
    } else if (node.kind == NodeKind::Reshape && !sizes.empty() && !result.empty() &&
               sizes.back() == result.back() && from + 1U != sizes.size()) {
      // The last dimension is kept. If another dimension is innermost and is kept too, it stays innermost.
      const std::size_t behind = sizes.size() - from;
      if (behind <= result.size() && result[result.size() - behind] == sizes[from]) {
        innermost[node.output] = static_cast<std::uint8_t>(result.size() - behind);
      }
    }
  }
  return innermost;
}

class PreferredOrderFinder {
 public:
  explicit PreferredOrderFinder(const XnnGraph& graph) : graph_(graph), innermost_(natural_innermost(graph)) {
    votes_.resize(graph.values.size());
  }

  std::vector<std::optional<Order>> run() {
    std::vector<std::optional<Order>> preferred(graph_.values.size());
    for (ValueId output : graph_.outputs) vote(output, identity(output));
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const XnnNode& node = graph_.nodes[i];
      preferred[node.output] = winner(node.output);
      vote_inputs(node, preferred[node.output]);
    }
    for (ValueId id = 0; id < preferred.size(); ++id) {
      if (!preferred[id]) preferred[id] = winner(id);
    }
    return preferred;
  }

 private:
  struct Votes {
    Order order;
    std::uint32_t count = 0;
  };

  Order identity(ValueId id) const { return identity_order(graph_.values[id].sizes.size()); }

  void vote(ValueId id, const Order& order) {
    if (id == no_value || graph_.values[id].constant) return;
    for (Votes& votes : votes_[id]) {
      if (votes.order == order) {
        ++votes.count;
        return;
      }
    }
    votes_[id].push_back({order, 1});
  }

  // Returns the order with the most votes; in a tie, the first one cast.
  std::optional<Order> winner(ValueId id) const {
    const std::vector<Votes>& votes = votes_[id];
    if (votes.empty()) return std::nullopt;
    return std::ranges::max_element(votes, {}, &Votes::count)->order;
  }

  void vote_inputs(const XnnNode& node, const std::optional<Order>& preferred);
  void vote_reshape(const XnnNode& node, const std::optional<Order>& preferred);
  Order matrix_order(ValueId right) const;

  const XnnGraph& graph_;
  std::vector<std::uint8_t> innermost_;
  std::vector<std::vector<Votes>> votes_;
};

void PreferredOrderFinder::vote_reshape(const XnnNode& node, const std::optional<Order>& preferred) {
  const Dims& from = graph_.values[node.inputs[0]].sizes;
  const Dims& to = graph_.values[node.output].sizes;
  std::optional<Order> order;
  if (preferred) order = reshaped_order(to, from, *preferred);
  if (order || preferred) vote(node.inputs[0], order.value_or(identity(node.inputs[0])));
}

// The right matrix may be transposed, which is cheaper if its elements are naturally in that order.
Order PreferredOrderFinder::matrix_order(ValueId right) const {
  Order order = identity(right);
  const std::size_t rank = order.size();
  if (innermost_[right] + 2U == rank) std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

void PreferredOrderFinder::vote_inputs(const XnnNode& node, const std::optional<Order>& preferred) {
  using enum NodeKind;
  const ValueId input = node.inputs[0];
  const std::size_t rank = graph_.values[node.output].sizes.size();
  if (is_convolution(node.kind) || node.kind == AvgPooling2d || node.kind == MaxPooling2d ||
      node.kind == ResizeBilinear || (node.kind == ChannelAffine && rank == 4)) {
    vote(input, nhwc());
  } else if (node.kind == Transpose) {
    if (preferred) vote(input, compose(node.get<Order>(), *preferred));
  } else if (node.kind == Reshape) {
    vote_reshape(node, preferred);
  } else if (node.kind == BatchMatrixMultiply) {
    vote(input, identity(input));
    vote(node.inputs[1], matrix_order(node.inputs[1]));
  } else if (node.kind == FullyConnected || node.kind == Softmax || node.kind == GlobalAvgPooling2d) {
    // These accept any order that has certain dimensions in place; see assign_layouts.cpp.
    if (node.kind == GlobalAvgPooling2d) {
      const Axes& axes = node.get<Axes>();
      vote(input, axes.stay ? mean_order(rank, axes)
                            : dropping_order(preferred.value_or(identity(node.output)), axes));
    }
  } else if (preferred) {
    for (ValueId operand : node.inputs) {
      if (operand != no_value && graph_.values[operand].sizes.size() == rank) vote(operand, *preferred);
    }
  }
}

}  // namespace

std::vector<std::optional<Order>> find_preferred_orders(const XnnGraph& logical) {
  return PreferredOrderFinder(logical).run();
}

}  // namespace depute::xnnpack
