// Multiplies batches as they were before a view joined their sizes, if a backend keeps products of any rank: with two
// open sizes, it could not express the views. A softmax between two products follows.
//
//   %a: f32[4*n, s, 8] = aten.view.default(%x, [-1, %s, 8])      with %x: f32[n, 4, s, 8]
//   %b: f32[4*n, 8, s] = aten.view.default(%y, [-1, 8, %s])      with %y: f32[n, 4, 8, s]
//   %c: f32[4*n, s, s] = aten.bmm.default(%a, %b)
//     ->
//   %m: f32[n, 4, s, s] = aten.matmul.default(%x, %y)
//   %c: f32[4*n, s, s] = aten.view.default(%m, [-1, %s, %s])
#include <algorithm>
#include <numeric>

#include "depute/program/builder.h"
#include "normalize/kept_ops.h"
#include "normalize/pass_error.h"
#include "normalize/passes.h"
#include "ops/control/size_values.h"
#include "ops/tensors/view_rules.h"

namespace depute {
namespace {

constexpr std::string_view matmul = "aten.matmul.default";

Value* transposed(Builder& b, Value* x) {
  std::vector<std::int64_t> order(x->tensor().rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order.back());
  return b.call("aten.permute.default", {x, order});
}

// Returns the tensor whose leading sizes a view has joined to batches of matrices, or null.
Value* split(Builder& b, const Value* batches) {
  const Node* node = batches->producer();
  if (node == nullptr) return nullptr;
  if (node->op() == "aten.permute.default") {
    const auto order = internal::permutation(OpCall(*node));
    if (!order || *order != std::vector<std::size_t>{0, 2, 1}) return nullptr;
    Value* x = split(b, node->operand(0));
    return x == nullptr ? nullptr : transposed(b, x);
  }
  if (node->op() != "aten.view.default") return nullptr;
  const Value* x = node->operand(0);
  const Dims &sizes = x->tensor().sizes, &joined = batches->tensor().sizes;
  const bool keeps_matrices = sizes.size() > 3 && std::equal(sizes.end() - 2, sizes.end(), joined.end() - 2);
  const auto is_open = [](const SymInt& size) { return !size.is_constant(); };
  return keeps_matrices && std::ranges::count_if(sizes, is_open) > 1 ? b.own(x) : nullptr;
}

// Returns the product of whole tensors that a bmm is a view of, or null.
Value* whole_product(Builder& b, const Node& bmm, const KeptOps& kept) {
  Value *left = split(b, bmm.operand(0)), *right = split(b, bmm.operand(1));
  if (left == nullptr || right == nullptr || b.failed()) return nullptr;
  const Dims &rows = left->tensor().sizes, &columns = right->tensor().sizes;
  if (!std::equal(rows.begin(), rows.end() - 2, columns.begin(), columns.end() - 2)) return nullptr;
  Value* whole = b.call(matmul, {left, right});
  return b.failed() || !kept.keeps(*whole->producer()) ? nullptr : whole;
}

// Returns the whole tensor's softmax that a softmax of the last dimension is a view of, or null.
Value* whole_softmax(Builder& b, const Node& softmax) {
  const OpCall call(softmax);
  const bool is_last = call.integer("dim") == -1 || call.integer("dim") == 2;
  if (!is_last || call.tensor("self").rank() != 3) return nullptr;
  Value* x = split(b, call.value("self"));
  return x == nullptr ? nullptr : b.call("aten._softmax.default", {x, -1, call["half_to_float"]});
}

// Replaces the node's result by a view of `whole`, and views of it that split the sizes again by `whole` itself.
void replace(Builder& b, Graph& graph, Node& node, Value* whole) {
  Value* joined = b.view(whole, node.result()->tensor().sizes);
  if (b.failed()) return;
  std::vector<Value*> views;
  for (Use& use : node.result()->uses())
    if (use.user()->op() == "aten.view.default" && use.user()->result()->type() == whole->type())
      views.push_back(use.user()->result());
  for (Value* view : views) graph.replace_uses(*view, whole);
  graph.replace_uses(*node.result(), joined);
  graph.erase(node);
}

}  // namespace

// Afterwards no batches of matrices are joined by views of several open sizes where a backend keeps matmul.
Status split_joined_batches(Program& program, const NormalizeOptions& options) {
  const auto keeps_products = [](const OpsToNotDecompose& wish) {
    return std::ranges::find(wish.ops, Name(matmul)) != wish.ops.end();
  };
  if (std::ranges::none_of(options.ops_to_not_decompose, keeps_products)) return {};
  const KeptOps kept(options.ops_to_not_decompose);
  return for_each_graph(program, [&](Method& method, Graph& graph) -> Status {
    SizeValues sizes(graph, &program.ranges);
    for (Node& node : graph.nodes()) {
      const bool is_product = node.op() == "aten.bmm.default";
      if (!is_product && node.op() != "aten._softmax.default") continue;
      Builder b(graph, &node, &sizes, &method);
      b.inherit(node);
      Value* whole = is_product ? whole_product(b, node, kept) : whole_softmax(b, node);
      if (whole != nullptr && !b.failed()) replace(b, graph, node, whole);
    }
    return {};
  });
}

}  // namespace depute
