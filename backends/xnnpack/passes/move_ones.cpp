// A Reshape infers one size, so it fails if two sizes are dynamic. If it only adds or drops dimensions of
// size 1, other nodes can do the same for any number of dynamic sizes. A product with ones adds leading
// dimensions; a mean over two dimensions drops them.
//
//   Reshape(x[a, 8, 1, b], [a, 8, b])
//     ->  Expand(x, [1, a, 8, 1, b]), Transpose to [a, 8, 1, 1, b], GlobalAvgPooling2d, dims dropped
//
// Each of these costs a copy, so a reshape and its inverse with only elementwise nodes between them go first:
//
//   Conv2d, Reshape to [a, 8, b], Gelu, Reshape to [a, 8, 1, b], Conv2d  ->  Conv2d, Gelu, Conv2d
#include <algorithm>
#include <utility>

#include "node_query.h"
#include "passes/simplify.h"

namespace depute::xnnpack {
namespace {

bool is_one(const SymInt& size) {
  return size == 1;
}

std::size_t count_ones(const Dims& sizes) {
  return static_cast<std::size_t>(std::ranges::count_if(sizes, is_one));
}

class OnesMover {
 public:
  explicit OnesMover(XnnGraph& graph) : graph_(graph), uses_(find_uses(graph)) {
    source_.resize(graph.values.size());
    for (ValueId id = 0; id < source_.size(); ++id) source_[id] = id;
  }

  void run() {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) cancel(i);
    for (ValueId& output : graph_.outputs) output = source_[output];
    for (const XnnNode& node : std::exchange(graph_.nodes, {})) {
      if (node.kind == NodeKind::None) continue;
      if (is_open_reshape(node)) {
        move(node);
      } else {
        graph_.nodes.push_back(node);
      }
    }
  }

 private:
  const Dims& sizes(ValueId id) const { return graph_.values[id].sizes; }

  bool is_open_reshape(const XnnNode& node) const {
    return node.kind == NodeKind::Reshape && symbolic_count(sizes(node.output)) > 1 &&
           adds_or_drops_ones(sizes(node.inputs[0]), sizes(node.output));
  }

  void cancel(std::uint32_t index);
  void move(const XnnNode& reshape);
  ValueId add(const XnnNode& like, NodeKind kind, ValueId input, Dims sizes, NodeParams params = {});

  XnnGraph& graph_;
  GraphUses uses_;
  std::vector<ValueId> source_;  // the value that replaces each value
};

// Removes the reshape `index` if it undoes an earlier reshape and only elementwise nodes are between them.
void OnesMover::cancel(std::uint32_t index) {
  for (ValueId& input : graph_.nodes[index].inputs) {
    if (input != no_value) input = source_[input];
  }
  XnnNode& reshape = graph_.nodes[index];
  if (!is_open_reshape(reshape)) return;
  std::vector<std::uint32_t> between;  // last node first
  ValueId id = reshape.inputs[0];
  std::uint32_t producer = uses_.producer[id];
  while (producer != no_value && is_unary(graph_.nodes[producer].kind) && uses_.count[id] == 1) {
    between.push_back(producer);
    id = graph_.nodes[producer].inputs[0];
    producer = uses_.producer[id];
  }
  if (producer == no_value || !is_open_reshape(graph_.nodes[producer])) return;
  const ValueId original = graph_.nodes[producer].inputs[0];
  if (sizes(original) != sizes(reshape.output)) return;
  ++uses_.count[original];
  if (between.empty()) {
    source_[reshape.output] = original;
  } else {
    for (std::uint32_t node : between) graph_.values[graph_.nodes[node].output].sizes = sizes(original);
    graph_.nodes[between.back()].inputs[0] = original;
    source_[reshape.output] = reshape.inputs[0];
    uses_.count[reshape.inputs[0]] = uses_.count[reshape.output];
  }
  reshape.kind = NodeKind::None;
}

ValueId OnesMover::add(const XnnNode& like, NodeKind kind, ValueId input, Dims sizes, NodeParams params) {
  const ValueId output = graph_.add_value_like(input, std::move(sizes));
  graph_.nodes.push_back(node_for(like, kind, {input}, output, std::move(params)));
  return output;
}

// Adds leading ones (one more if the surplus is odd), and drops pairs of ones before the last dimension.
void OnesMover::move(const XnnNode& reshape) {
  ValueId id = reshape.inputs[0];
  const Dims to = sizes(reshape.output);
  Dims now = sizes(id);
  const std::size_t rank = widest_rank(now, to);
  if (rank > now.size()) {
    now.insert(now.begin(), rank - now.size(), SymInt(1));
    id = add(reshape, NodeKind::Expand, id, now);
  }
  Dims apart = to;
  apart.insert(apart.end() - 1, rank - to.size(), SymInt(1));
  Order order;
  std::size_t one = 0;
  std::size_t other = 0;
  for (const SymInt& size : apart) {
    std::size_t& next = is_one(size) ? one : other;
    while (is_one(now[next]) != is_one(size)) ++next;
    order.push_back(static_cast<std::uint8_t>(next++));
  }
  if (!is_identity(order)) id = add(reshape, NodeKind::Transpose, id, apart, order);
  while (apart.size() > to.size()) {
    const auto first = static_cast<std::uint32_t>(apart.size() - 3);
    apart.erase(apart.begin() + first, apart.begin() + first + 2);
    id = add(reshape, NodeKind::GlobalAvgPooling2d, id, apart,
             Axes{.dims = {first, first + 1}, .stay = false});
  }
  // At least one node was added, since every added or dropped dimension needs one.
  graph_.nodes.back().output = reshape.output;
}

}  // namespace

std::size_t widest_rank(const Dims& from, const Dims& to) {
  if (to.size() >= from.size()) return to.size();
  return from.size() + (from.size() - to.size()) % 2;
}

bool adds_or_drops_ones(const Dims& from, const Dims& to) {
  if (from == to || widest_rank(from, to) > max_rank || to.empty()) return false;
  if (from.size() - count_ones(from) != to.size() - count_ones(to)) return false;
  auto next = from.begin();
  for (const SymInt& size : to) {
    if (is_one(size)) continue;
    while (is_one(*next)) ++next;
    if (!(*next++ == size)) return false;
  }
  return true;
}

void move_ones(XnnGraph& graph) {
  OnesMover(graph).run();
}

}  // namespace depute::xnnpack
