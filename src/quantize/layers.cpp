#include "quantize/layers.h"

#include <algorithm>

#include "ops/tensors/view_rules.h"

namespace depute {
namespace {

using Target = QuantizeRule::Target;

// An op that is a layer, with the names of its arguments.
struct LayerOp {
  std::string_view op;
  Target target;
  std::string_view input;
  std::string_view weight;
  std::string_view bias;
};
constexpr std::string_view linear_op = "aten.linear.default";
constexpr std::string_view addmm_op = "aten.addmm.default";
constexpr LayerOp layer_ops[] = {{linear_op, Target::Linear, "input", "weight", "bias"},
                                 {"aten.embedding.default", Target::Embedding, {}, "weight", {}},
                                 {"aten.mm.default", Target::Linear, "self", "mat2", {}},
                                 {"aten.matmul.default", Target::Linear, "self", "other", {}},
                                 {addmm_op, Target::Linear, "mat1", "mat2", "self"}};

bool is_permute(const Node& node) {
  return node.def() != nullptr && node.def()->write_back == internal::write_permuted;
}

// Maximum number of permutes to look through.
constexpr int max_permutes = 4;

// Returns the matrix that a permute reads, or null. Flips `is_turned` if the permute transposes.
const Value* shown_matrix(const Node& permute, bool& is_turned) {
  if (!check_call(permute)) return nullptr;
  auto order = internal::permutation(OpCall(permute));
  if (!order || order->size() != 2) return nullptr;
  if (order->front() == 1) is_turned = !is_turned;
  return permute.operand(0);
}

// If the weight is a permuted graph input, makes that input the layer's weight.
void look_through_permutes(Layer& layer) {
  const Value* value = layer.weight;
  bool is_turned = layer.is_turned;
  for (int i = 0; i < max_permutes && value->producer() != nullptr; ++i) {
    if (!is_permute(*value->producer())) return;
    value = shown_matrix(*value->producer(), is_turned);
    if (value == nullptr) return;
  }
  if (value->producer() != nullptr || value == layer.weight) return;
  layer.weight = value;
  layer.is_turned = is_turned;
  layer.reads_weight = false;
}

// True if a linear op can express the product: rows times a matrix, plus an unscaled bias per column.
bool is_like_linear(const OpCall& call, const Layer& layer) {
  if (layer.input->tensor().rank() < 2 || layer.weight->tensor().rank() != 2) return false;
  if (call.def().name != addmm_op) return true;
  const TensorType& bias = layer.bias->tensor();
  const bool is_plain = call["beta"].as_double() == 1 && call["alpha"].as_double() == 1;
  return is_plain && bias.rank() == 1 && bias.sizes[0] == call.tensor("mat2").sizes[1];
}

bool writes(const OpDef& def) {
  return std::ranges::any_of(def.args, [](const ArgDef& arg) { return arg.is_written || arg.is_aliased; });
}

bool may_be_written(const Value& value, int permutes) {
  for (const Use& use : value.uses()) {
    const Node& user = *use.user();
    if (user.is_return()) continue;
    const OpDef* def = user.def();
    if (def != nullptr && is_permute(user) && permutes < max_permutes) {
      if (may_be_written(*user.result(), permutes + 1)) return true;
      continue;
    }
    if (def == nullptr || def->is(OpFlag::View) || def->is(OpFlag::MayView) || def->is(OpFlag::ControlFlow))
      return true;
    if (writes(*def)) return true;
  }
  return false;
}

}  // namespace

std::optional<Layer> layer_of(const Node& node) {
  const auto* op = std::ranges::find(layer_ops, node.op().str(), &LayerOp::op);
  if (op == std::end(layer_ops) || node.def() == nullptr || !check_call(node)) return std::nullopt;
  const OpCall call(node);
  Layer layer{.target = op->target};
  layer.weight = call.value(op->weight);
  if (op->target == Target::Embedding) return layer;
  layer.input = call.value(op->input);
  if (!op->bias.empty()) layer.bias = call.value(op->bias);
  const bool is_linear = op->op == linear_op;
  layer.is_product = layer.is_turned = !is_linear;
  look_through_permutes(layer);
  if (is_linear) return layer;
  // A product of two computed values is not a layer.
  const bool is_constant = layer.weight->producer() == nullptr;
  return is_constant && is_like_linear(call, layer) ? std::optional(layer) : std::nullopt;
}

bool may_be_written(const Value& value) {
  return may_be_written(value, 0);
}

}  // namespace depute
