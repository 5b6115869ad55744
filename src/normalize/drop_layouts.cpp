// Makes every tensor contiguous, and infers the result types of every known node.
//
//   %p: f32[4, 3]{strides=[1, 4]} = aten.permute.default(%x, [1, 0])     ->     %p: f32[4, 3] = ...
//
// Views in training IR have the strides that torch traced. After functionalization no node depends on them,
// and the runtime's tensors are dense. A file whose types contradict its ops is rejected: the file or the op
// table is wrong. A user input in channels_last order keeps this order, since the caller passes such tensors;
// it is copied.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "depute/program/infer.h"
#include "depute/program/op.h"
#include "normalize/node_types.h"
#include "normalize/pass_error.h"
#include "normalize/passes.h"
#include "support/try.h"

namespace depute {
namespace {

// True for NHWC or NDHWC that is not contiguous as well (because of dimensions of size 1).
bool is_channels_last(const TensorType& type) {
  auto order = dim_order(type);
  if (!order || (type.rank() != 4 && type.rank() != 5)) return false;
  std::vector<std::uint8_t> wanted = {0};
  for (std::size_t dim = 2; dim < type.rank(); ++dim) wanted.push_back(static_cast<std::uint8_t>(dim));
  wanted.push_back(1);
  bool has_space =
      std::any_of(type.sizes.begin() + 2, type.sizes.end(), [](const SymInt& size) { return !(size == 1); });
  return *order == wanted && has_space && !(type.sizes[1] == 1);
}

// Returns the first node that reads the value; null if no node does.
const Node* first_user(const Graph& graph, const Value& value) {
  for (const Node& node : graph.nodes()) {
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      if (node.operand(i) == &value) return &node;
    }
  }
  return nullptr;
}

// Inserts a row-major copy of the input, which all users then read. The copy takes the first user's source
// line.
void copy_densely(Graph& graph, Value& input, TensorType dense) {
  const Node* user = first_user(graph, input);
  std::vector<std::int64_t> order(dense.rank());
  std::iota(order.begin(), order.end(), 0);
  NamedArgument dim_order{Name("dim_order"), graph.int_list(order)};
  Node* copy = graph.add(Name("dim_order_ops._to_dim_order_copy.default"), {Argument::none()}, {dim_order},
                         {{input.name(), tensor_type(std::move(dense))}}, graph.first());
  if (user != nullptr) {
    copy->debug_handle = user->debug_handle;
    copy->source = user->source;
    copy->replaced = user->replaced;
  }
  graph.replace_uses(input, copy->result());
  Argument self = Argument::of(&input);
  graph.set_args(*copy, std::span(&self, 1), copy->kwargs());
}

Status drop_from_inputs(Method& method, Graph& graph) {
  bool is_main = &graph == method.graph.get();
  std::vector<Value*> inputs(graph.inputs().begin(), graph.inputs().end());
  for (Value* input : inputs) {
    if (!input->type().is_tensor() || input->tensor().is_contiguous()) continue;
    bool is_user = is_main && !method.inputs[input->index()].has_data();
    TensorType dense = make_tensor(input->tensor().dtype, input->tensor().sizes);
    if (!is_user || !is_channels_last(input->tensor())) {
      graph.set_type(*input, tensor_type(std::move(dense)));
      continue;
    }
    copy_densely(graph, *input, std::move(dense));
  }
  return {};
}

// Returns the inferred type with the symbolic sizes of the file. Fails if the two disagree.
Result<Type> reconcile(const Node& node, const Type& file, const Type& inferred) {
  if (!may_agree(file, inferred)) {
    return node_error(node,
                      fmt::format("the file declares type {} for this node, but its op returns {}", str(file),
                                  str(inferred)),
                      "the file is damaged, or uses this op in an unsupported way");
  }
  if (!file.is_tensor()) return file;
  return tensor_type(make_tensor(file.tensor.dtype, file.tensor.sizes));
}

// Removes the strides from the file's types.
void keep_types(Graph& graph, Node& node) {
  for (Value* result : node.results()) {
    if (!result->type().is_tensor() || result->tensor().is_contiguous()) continue;
    graph.set_type(*result, tensor_type(make_tensor(result->tensor().dtype, result->tensor().sizes)));
  }
}

Status retype(Graph& graph, Node& node) {
  const OpDef* def = node.def();
  if (def == nullptr || def->infer == nullptr) {
    keep_types(graph, node);
    return {};
  }
  TRY_STATUS(check_call(node));
  TRY(auto types, node_types(node));
  if (!types) {
    keep_types(graph, node);
    return {};
  }
  if (types->size() != node.results().size()) {
    return node_error(node, fmt::format("the file declares {} results for this node, but its op returns {}",
                                        node.results().size(), types->size()));
  }
  for (std::size_t i = 0; i < types->size(); ++i) {
    if (node.result(i)->type().kind == Type::Kind::None) continue;  // torch did not compute this result
    TRY(Type type, reconcile(node, node.result(i)->type(), (*types)[i]));
    graph.set_type(*node.result(i), std::move(type));
  }
  return {};
}

// Fails for as_strided on strided memory: it counts elements in its argument's memory, which must be dense.
Status check_layout_is_known(const Node& node) {
  const OpDef* def = node.def();
  if (def == nullptr || !def->is(OpFlag::ReadsLayout)) return {};
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Type& type = node.operand(i)->type();
    if (!type.is_tensor() || type.tensor.is_contiguous()) continue;
    return node_error(node, "reads the memory of a non-contiguous tensor",
                      "write .contiguous() in the model");
  }
  return {};
}

}  // namespace

// Afterwards all tensors are contiguous, and every known node has the result types of its op; a contradicting
// file is rejected. Only user inputs may be channels_last; a copy follows them.
Status drop_layouts(Program& program, const NormalizeOptions&) {
  return for_each_graph(program, [](Method& method, Graph& graph) -> Status {
    for (const Node& node : graph.nodes()) TRY_STATUS(check_layout_is_known(node));
    TRY_STATUS(drop_from_inputs(method, graph));
    for (Node& node : graph.nodes()) TRY_STATUS(retype(graph, node));
    return {};
  });
}

}  // namespace depute
