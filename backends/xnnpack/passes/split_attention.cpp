// Splits attention whose scores exceed the cache into parts of the queries. The scores of a part then stay in
// the cache from product to product. It also needs less memory, since scores grow with the square of the
// length.
//
//   BatchMatrixMultiply(q[6, 1500, 64], k) -> Softmax -> BatchMatrixMultiply(., v)     54 MB of scores
//     ->  five times the same of Slice(q) with 300 rows, 11 MB each; Concat
//
// On x86-64 with 32 MiB of shared cache, 54 MB of scores took 16 % less time, 13 MB the same, and smaller
// scores more: the keys are packed once for each part.
#include <algorithm>

#include "passes/simplify.h"

namespace depute::xnnpack {
namespace {

constexpr double max_bytes = 16 << 20;  // scores up to this size in bytes are not split
constexpr double part_bytes = 12 << 20;
constexpr std::int64_t max_parts = 64;

class AttentionSplitter {
 public:
  explicit AttentionSplitter(XnnGraph& graph);
  void run();

 private:
  const Dims& sizes(ValueId id) const { return graph_.values[id].sizes; }
  const XnnNode* only_reader(ValueId id) const;
  bool keeps_rows(const XnnNode& node, ValueId scores) const;
  std::vector<const XnnNode*> attention_from(const XnnNode& product) const;
  std::int64_t parts_of(const XnnNode& product) const;
  void split(const std::vector<const XnnNode*>& attention, std::int64_t parts);
  ValueId rows_of(const XnnNode& node, ValueId id, std::int64_t first, std::int64_t count);

  XnnGraph& graph_;
  GraphUses uses_;
  std::vector<std::uint32_t> reader_;  // by value: the last node that reads it
  std::vector<XnnNode> nodes_;         // the new nodes of the graph
};

AttentionSplitter::AttentionSplitter(XnnGraph& graph) : graph_(graph), uses_(find_uses(graph)) {
  reader_.assign(graph.values.size(), no_value);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId input : graph.nodes[i].inputs) {
      if (input != no_value) reader_[input] = static_cast<std::uint32_t>(i);
    }
  }
}

// Returns null if there are several readers, or if the value is a result of the delegate.
const XnnNode* AttentionSplitter::only_reader(ValueId id) const {
  return uses_.count[id] == 1 && reader_[id] != no_value ? &graph_.nodes[reader_[id]] : nullptr;
}

// The dimension of the queries.
std::size_t row_dim(const Dims& sizes) {
  return sizes.size() - 2;
}

// True if each row of the result depends only on the same row of `scores` and of the other operands.
bool AttentionSplitter::keeps_rows(const XnnNode& node, ValueId scores) const {
  const Dims& from = sizes(scores);
  const Dims& to = sizes(node.output);
  if (to.size() < 2) return false;
  if (is_unary(node.kind) || is_binary(node.kind)) return from == to;
  if (node.kind == NodeKind::Softmax) return node.get<Axis>().dim + 1 == from.size();
  return node.kind == NodeKind::Reshape && from[row_dim(from)] == to[row_dim(to)] && from.back() == to.back();
}

// Returns the nodes from a product that computes scores to the product that reads them, or nothing.
std::vector<const XnnNode*> AttentionSplitter::attention_from(const XnnNode& product) const {
  std::vector<const XnnNode*> nodes{&product};
  bool has_softmax = false;
  while (const XnnNode* next = only_reader(nodes.back()->output)) {
    const ValueId scores = nodes.back()->output;
    nodes.push_back(next);
    if (next->kind == NodeKind::BatchMatrixMultiply)
      return has_softmax && next->inputs[0] == scores ? nodes : std::vector<const XnnNode*>{};
    if (!keeps_rows(*next, scores)) break;
    has_softmax = has_softmax || next->kind == NodeKind::Softmax;
  }
  return {};
}

std::int64_t AttentionSplitter::parts_of(const XnnNode& product) const {
  const XnnValue& scores = graph_.values[product.output];
  double bytes = scores.dtype == ScalarType::F16 ? 2 : 4;
  for (const SymInt& size : scores.sizes) {
    if (!size.is_constant()) return 1;
    bytes *= static_cast<double>(size.value());
  }
  if (bytes <= max_bytes) return 1;
  const auto parts = static_cast<std::int64_t>(bytes / part_bytes) + 1;
  return std::min({parts, max_parts, scores.sizes[row_dim(scores.sizes)].value()});
}

// Slices rows of an operand of `node`. A single row is broadcast and returned unchanged.
ValueId AttentionSplitter::rows_of(const XnnNode& node, ValueId id, std::int64_t first, std::int64_t count) {
  Dims target = sizes(id);
  if (target.size() < 2 || target[row_dim(target)] == 1) return id;
  SliceRange range;
  for (const SymInt& whole : target) {
    range.offsets.push_back(0);
    range.sizes.push_back(whole.is_constant() ? static_cast<std::uint32_t>(whole.value()) : 0);
  }
  range.offsets[row_dim(target)] = static_cast<std::uint32_t>(first);
  range.sizes[row_dim(target)] = static_cast<std::uint32_t>(count);
  target[row_dim(target)] = count;
  const ValueId part = graph_.add_value_like(id, std::move(target));
  nodes_.push_back(node_for(node, NodeKind::Slice, {id}, part, std::move(range)));
  return part;
}

void AttentionSplitter::split(const std::vector<const XnnNode*>& attention, std::int64_t parts) {
  const XnnNode& last = *attention.back();
  const std::int64_t rows = sizes(attention[0]->output)[row_dim(sizes(attention[0]->output))].value();
  std::vector<ValueId> results;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t first = rows * i / parts;
    const std::int64_t count = rows * (i + 1) / parts - first;
    ValueId whole = attention[0]->inputs[0];
    ValueId part = rows_of(*attention[0], whole, first, count);
    for (const XnnNode* node : attention) {
      XnnNode copy = *node;
      const bool is_product = node->kind == NodeKind::BatchMatrixMultiply;
      for (std::size_t operand = 0; operand < (is_product ? 1 : copy.inputs.size()); ++operand) {
        ValueId& input = copy.inputs[operand];
        input = input == whole ? part : rows_of(*node, input, first, count);
      }
      Dims target = sizes(node->output);
      target[row_dim(target)] = count;
      whole = node->output;
      part = copy.output = graph_.add_value_like(whole, std::move(target));
      nodes_.push_back(std::move(copy));
    }
    results.push_back(part);
  }
  const auto dim = static_cast<std::uint32_t>(row_dim(sizes(last.output)));
  nodes_.push_back(node_for(last, NodeKind::Concat, std::move(results), last.output, Axis{dim}));
}

void AttentionSplitter::run() {
  // The parts are inserted at the last node's position, where all operands are available.
  std::vector<std::vector<const XnnNode*>> ends(graph_.nodes.size());
  std::vector<bool> is_split(graph_.nodes.size(), false);
  const auto index_of = [this](const XnnNode* node) {
    return static_cast<std::size_t>(node - graph_.nodes.data());
  };
  for (const XnnNode& node : graph_.nodes) {
    if (node.kind != NodeKind::BatchMatrixMultiply || is_split[index_of(&node)] || parts_of(node) == 1)
      continue;
    auto attention = attention_from(node);
    if (attention.empty()) continue;
    for (const XnnNode* each : attention) is_split[index_of(each)] = true;
    ends[index_of(attention.back())] = std::move(attention);
  }
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!is_split[i]) {
      nodes_.push_back(graph_.nodes[i]);
    } else if (!ends[i].empty()) {
      split(ends[i], parts_of(*ends[i][0]));
    }
  }
  graph_.nodes = std::move(nodes_);
}

}  // namespace

void split_attention(XnnGraph& graph) {
  AttentionSplitter(graph).run();
}

}  // namespace depute::xnnpack
