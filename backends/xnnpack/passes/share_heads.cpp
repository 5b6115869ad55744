// Grouped-query attention: the query heads of a group share one key head. Instead of repeating the keys, the
// queries of a group become more rows of one matrix.
//
//   k[1, 2, 1, t, d] -> Expand [1, 2, 4, t, d] -> Reshape [1, 8, t, d]
//   BatchMatrixMultiply(q[1, 8, s, d], Transpose(k))
//     ->
//   BatchMatrixMultiply(Reshape(q, [1, 2, 4*s, d]), Transpose(k[1, 2, t, d])), Reshape [1, 8, s, t]
#include "passes/simplify.h"
#include "passes/value_forms.h"

namespace depute::xnnpack {
namespace {

// The right operand of a product, [.., h * n, p, q], which repeats each head n times.
struct RepeatedHeads {
  ValueId heads = no_value;  // [.., h, p, q], or [.., h, 1, p, q] for an input of the delegate
  bool is_turned = false;    // p and q are swapped after the repetition
};

class HeadSharer {
 public:
  explicit HeadSharer(XnnGraph& graph) : graph_(graph), uses_(find_uses(graph)) {}
  void run();

 private:
  const Dims& sizes(ValueId id) const { return graph_.values[id].sizes; }
  const XnnNode* producer(ValueId id, NodeKind kind) const;
  std::optional<RepeatedHeads> find_repeated(ValueId right) const;
  ValueId before_repetition(ValueId id) const;
  ValueId turned(const XnnNode& product, ValueId heads);
  bool share(const XnnNode& product);

  XnnGraph& graph_;
  GraphUses uses_;
  std::vector<XnnNode> nodes_;  // the new nodes of the graph
};

const XnnNode* HeadSharer::producer(ValueId id, NodeKind kind) const {
  if (uses_.producer[id] == no_value) return nullptr;
  const XnnNode& node = graph_.nodes[uses_.producer[id]];
  return node.kind == kind ? &node : nullptr;
}

// Sizes with `size` inserted before the matrix.
Dims with_group(const Dims& sizes, const SymInt& size) {
  Dims result = sizes;
  result.insert(result.end() - 2, size);
  return result;
}

// Returns the heads that `id` repeats, or no_value if `id` is not a repetition.
ValueId HeadSharer::before_repetition(ValueId id) const {
  const XnnNode* merge = producer(id, NodeKind::Reshape);
  const XnnNode* expand = merge == nullptr ? nullptr : producer(merge->inputs[0], NodeKind::Expand);
  const std::size_t rank = sizes(id).size();
  if (expand == nullptr || rank < 3 || sizes(expand->output).size() != rank + 1) return no_value;
  const SymInt& count = sizes(expand->output)[rank - 2];
  Dims narrow = sizes(id);
  narrow[rank - 3] = sizes(expand->output)[rank - 3];
  if (sizes(expand->inputs[0]) != with_group(narrow, 1)) return no_value;
  if (sizes(expand->output) != with_group(narrow, count) || narrow[rank - 3] * count != sizes(id)[rank - 3])
    return no_value;
  const XnnNode* split = producer(expand->inputs[0], NodeKind::Reshape);
  return split != nullptr && sizes(split->inputs[0]) == narrow ? split->inputs[0] : expand->inputs[0];
}

Order matrix_turn(std::size_t rank) {
  Order order = identity_order(rank);
  std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

std::optional<RepeatedHeads> HeadSharer::find_repeated(ValueId right) const {
  const XnnNode* turn = producer(right, NodeKind::Transpose);
  if (turn != nullptr && turn->get<Order>() != matrix_turn(sizes(right).size())) return std::nullopt;
  const ValueId heads = before_repetition(turn == nullptr ? right : turn->inputs[0]);
  if (heads == no_value) return std::nullopt;
  return RepeatedHeads{heads, turn != nullptr};
}

ValueId HeadSharer::turned(const XnnNode& product, ValueId heads) {
  const Order order = matrix_turn(sizes(heads).size());
  const ValueId output = graph_.add_value_like(heads, permuted(sizes(heads), order));
  nodes_.push_back(node_for(product, NodeKind::Transpose, {heads}, output, order));
  return output;
}

// Returns false if the product was not changed.
bool HeadSharer::share(const XnnNode& product) {
  const auto repeated = find_repeated(product.inputs[1]);
  const Dims left = sizes(product.inputs[0]);
  const Dims result = sizes(product.output);
  if (!repeated || left.size() != result.size()) return false;
  const std::size_t rank = sizes(repeated->heads).size();
  const std::size_t head = left.size() - 3;
  const SymInt heads = sizes(repeated->heads)[head];
  if (rank > max_rank || !left[head].is_constant() || left[head] != result[head]) return false;
  Dims grouped = left;
  grouped[head] = heads;
  grouped[head + 1] = left[head + 1] * floor_div(left[head], heads);
  if (rank > left.size()) grouped = with_group(grouped, 1);
  Dims outputs = grouped;
  outputs.back() = result.back();
  if (!can_reshape_to(grouped) || !can_reshape_to(result)) return false;
  const ValueId queries = graph_.add_value_like(product.inputs[0], std::move(grouped));
  nodes_.push_back(node_for(product, NodeKind::Reshape, {product.inputs[0]}, queries));
  const ValueId right = repeated->is_turned ? turned(product, repeated->heads) : repeated->heads;
  const ValueId output = graph_.add_value_like(product.output, std::move(outputs));
  nodes_.push_back(node_for(product, NodeKind::BatchMatrixMultiply, {queries, right}, output));
  nodes_.push_back(node_for(product, NodeKind::Reshape, {output}, product.output));
  return true;
}

void HeadSharer::run() {
  for (const XnnNode& node : graph_.nodes) {
    if (node.kind != NodeKind::BatchMatrixMultiply || !share(node)) nodes_.push_back(node);
  }
  graph_.nodes = std::move(nodes_);
  remove_unused(graph_);
}

}  // namespace

void share_heads(XnnGraph& graph) {
  HeadSharer(graph).run();
}

}  // namespace depute::xnnpack
