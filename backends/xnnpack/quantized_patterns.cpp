#include "quantized_patterns.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "depute/program/data.h"
#include "graph.h"

namespace depute::xnnpack {
namespace {

constexpr std::string_view per_channel = "quantized_decomposed.dequantize_per_channel.default";
constexpr std::string_view per_tensor = "quantized_decomposed.dequantize_per_tensor.default";
constexpr std::string_view per_block = "torchao.dequantize_affine.default";

// The three variants of the pattern. XNNPACK quantizes per row in each, even if the program does per tensor.
struct DynamicOps {
  std::string_view choose, quantize, dequantize;
};
constexpr std::array<DynamicOps, 3> dynamic_ops = {{
    {"quantized_decomposed.choose_qparams.tensor", "quantized_decomposed.quantize_per_tensor.tensor",
     "quantized_decomposed.dequantize_per_tensor.tensor"},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default",
     "quantized_decomposed.quantize_per_token.default", "quantized_decomposed.dequantize_per_token.default"},
    {"torchao.choose_qparams_affine.default", "torchao.quantize_affine.default", per_block},
}};

// --- weights

// True if all bytes are 0. Before normalization constants are unknown, and the result is true.
bool is_all_zero(const QueryContext& context, const Value& value) {
  if (context.program == nullptr) return true;
  const TensorData* data = constant_data(*context.program, *context.method, value);
  if (data == nullptr || data->storage->is_elided()) return false;
  const TensorData dense = data->contiguous();
  return std::ranges::all_of(dense.dense_bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

bool has_no_zero_points(const QueryContext& context, const NodeQuery& node, std::string_view name) {
  if (!node.has(name)) return true;
  return node.is_constant(name) && is_all_zero(context, *node.call.value(name));
}

bool is_number(const Argument& argument, double wanted) {
  return argument.is_number() && argument.as_double() == wanted;
}

bool is_float(ScalarType dtype) {
  return dtype == ScalarType::F32 || dtype == ScalarType::F16;
}

bool are_scales(const NodeQuery& node, std::string_view name, const SymInt& count) {
  return node.is_constant(name) && is_float(node.tensor(name).dtype) && node.tensor(name).numel() == count;
}

std::optional<QuantizedWeight> weight_of_channels(const QueryContext& context, const NodeQuery& node) {
  const TensorType& integers = node.tensor("input");
  const std::size_t dim = dimension(node.call, "axis", integers.rank());
  if (dim >= integers.rank() || !are_scales(node, "scales", integers.sizes[dim])) return std::nullopt;
  if (!has_no_zero_points(context, node, "zero_points")) return std::nullopt;
  return QuantizedWeight{.scales = node.call.value("scales"), .dim = dim};
}

std::optional<QuantizedWeight> weight_of_tensor(const NodeQuery& node) {
  if (!node.call["scale"].is_number() || !is_number(node.call["zero_point"], 0)) return std::nullopt;
  return QuantizedWeight{.scale = node.call["scale"].as_double()};
}

// Blocks of [1, .., size] within the rows of a matrix, or whole rows.
std::optional<QuantizedWeight> weight_of_blocks(const QueryContext& context, const NodeQuery& node) {
  const Dims& sizes = node.tensor("input").sizes;
  if (sizes.size() != 2 || !node.call.is_constant_ints("block_size")) return std::nullopt;
  const std::vector<std::int64_t> block = node.call.ints("block_size");
  if (block.size() != 2 || block[0] != 1 || !sizes[1].is_constant()) return std::nullopt;
  const std::int64_t columns = sizes[1].value();
  if (block[1] < 1 || columns % block[1] != 0) return std::nullopt;
  if (!are_scales(node, "scale", sizes[0] * (columns / block[1]))) return std::nullopt;
  if (!has_no_zero_points(context, node, "zero_point")) return std::nullopt;
  const bool is_4bit = is_number(node.call["quant_min"], -8) && is_number(node.call["quant_max"], 7);
  // With f16, kernels exist for 4-bit groups only, so a row is treated as one group.
  const bool is_half = node.result().dtype == ScalarType::F16;
  const bool is_row = block[1] == columns && !(is_4bit && is_half && columns % 32 == 0);
  const std::size_t group = is_row ? 0 : static_cast<std::size_t>(block[1]);
  return QuantizedWeight{.scales = node.call.value("scale"), .group = group, .is_4bit = is_4bit};
}

// --- products

struct Product {
  std::string_view op, input, weight;
};
constexpr std::array<Product, 2> products = {{
    {"aten.linear.default", "input", "weight"},
    {"aten.convolution.default", "input", "weight"},
}};

const Product* find_product(const Node& node) {
  const auto* found = std::ranges::find(products, node.op().str(), &Product::op);
  return found == products.end() ? nullptr : found;
}

// True if a 1-d convolution of integers can be reshaped to 2-d, which allows one dynamic size.
bool has_known_form(const Node& convolution) {
  const OpCall call(convolution);
  const auto is_reshapable = [](const Dims& sizes) {
    return sizes.size() != 3 || symbolic_count(sizes) <= 1;
  };
  return call["groups"].is_int() && is_reshapable(call.tensor("input").sizes) &&
         is_reshapable(convolution.result()->tensor().sizes);
}

// True if XNNPACK has this product, with a dynamically quantized input or a float input. With f16 it has only
// linear products of dynamic rows, and 4-bit weights only in groups.
bool can_take(const Node& product, const QuantizedWeight& weight, bool is_dynamic) {
  const bool is_linear = product.op() == products[0].op;
  const bool is_half = product.result()->tensor().dtype == ScalarType::F16;
  const bool is_4bit_row = weight.is_4bit && weight.group == 0;
  if (!is_linear && !has_known_form(product)) return false;
  if (is_half && (!is_linear || !is_dynamic || is_4bit_row)) return false;
  if (!weight.is_4bit && weight.group == 0) return is_linear || !is_dynamic || !is_depthwise(OpCall(product));
  if (!weight.is_4bit || !is_linear || !is_dynamic || weight.dim != 0) return false;
  const Dims& sizes = weight.integers->tensor().sizes;
  return weight.group == 0 ? sizes[1].value() % 2 == 0 : weight.group % 32 == 0;
}

bool is_weight_of(const Node& product, const Value& value) {
  const Product* known = find_product(product);
  if (known == nullptr) return false;
  const OpCall call(product);
  return call.value(known->weight) == &value && call.value(known->input) != &value;
}

// --- dynamic inputs

const DynamicOps* find_ops(const Node& node, std::string_view DynamicOps::* place) {
  const auto* found = std::ranges::find(dynamic_ops, node.op().str(), place);
  return found == dynamic_ops.end() ? nullptr : found;
}

// Returns the node that chooses the scale, starting from any of the three nodes.
const Node* chooser_of(const Node& node) {
  if (find_ops(node, &DynamicOps::choose) != nullptr) return &node;
  const DynamicOps* ops = find_ops(node, &DynamicOps::quantize);
  if (ops == nullptr) ops = find_ops(node, &DynamicOps::dequantize);
  if (ops == nullptr || node.operand_count() < 2) return nullptr;
  const Node* chooser = node.operand(1)->producer();
  return chooser != nullptr && chooser->op() == ops->choose ? chooser : nullptr;
}

// True for asymmetric 8-bit integers with scales per row or per tensor.
bool chooses_rows(const NodeQuery& choose) {
  const TensorType& x = choose.tensor("input");
  if (!is_float(x.dtype) || x.rank() < 2) return false;
  const OpCall& call = choose.call;
  if (choose.node().op() == dynamic_ops[0].choose) {
    return is_number(call["quant_min"], -128) && is_number(call["quant_max"], 127) &&
           call["dtype"].as_scalar_type() == ScalarType::I8;
  }
  if (choose.node().op() == dynamic_ops[1].choose) return call["dtype"].as_scalar_type() == ScalarType::I8;
  const Dims block = as_dims(call["block_size"]);
  if (block.size() != x.rank() || block.back() != x.sizes.back()) return false;
  for (std::size_t i = 0; i + 1 < block.size(); ++i)
    if (block[i] != SymInt(1)) return false;
  const auto is_bound = [&](std::string_view name, double usual) {
    return call[name].is_none() || is_number(call[name], usual);
  };
  return call.text("mapping_type") == "ASYMMETRIC" &&
         call["target_dtype"].as_scalar_type() == ScalarType::I8 && is_bound("quant_min", -128) &&
         is_bound("quant_max", 127);
}

// True if the quantize or dequantize node uses the chooser's results as scale and zero point.
bool reads_choice(const Node& node, const Node& choose) {
  return node.operand_count() == 3 && node.operand(1) == choose.result(0) &&
         node.operand(2) == choose.result(1);
}

// True if the node converts to 8-bit integers, or back to the original type.
bool keeps_range(const NodeQuery& node, bool is_result, ScalarType dtype) {
  const OpCall& call = node.call;
  const auto is_bound = [&](std::string_view name, double usual) {
    return call[name].is_none() || is_number(call[name], usual);
  };
  if (!is_bound("quant_min", -128) || !is_bound("quant_max", 127)) return false;
  return node.result().dtype == (is_result ? ScalarType::I8 : dtype);
}

}  // namespace

std::optional<QuantizedWeight> quantized_weight(const QueryContext& context, const Value& value) {
  const Node* producer = value.producer();
  if (producer == nullptr || producer->def() == nullptr || !check_call(*producer)) return std::nullopt;
  const std::string_view op = producer->op().str();
  if (op != per_channel && op != per_tensor && op != per_block) return std::nullopt;
  const NodeQuery node(context, *producer);
  const bool is_known = node.is_constant("input") && node.tensor("input").dtype == ScalarType::I8 &&
                        node.tensor("input").rank() > 0 && is_float(node.result().dtype);
  if (!is_known) return std::nullopt;
  std::optional<QuantizedWeight> weight;
  if (op == per_channel) weight = weight_of_channels(context, node);
  if (op == per_tensor) weight = weight_of_tensor(node);
  if (op == per_block) weight = weight_of_blocks(context, node);
  if (!weight) return std::nullopt;
  weight->node = producer;
  weight->integers = node.call.value("input");
  return weight;
}

bool has_only_products(const QueryContext& context, const QuantizedWeight& weight) {
  const Value& value = *weight.node->result();
  if (!value.has_uses()) return false;
  for (const Use& use : value.uses()) {
    const Node& user = *use.user();
    if (!is_weight_of(user, value)) return false;
    const Node* source = OpCall(user).value(find_product(user)->input)->producer();
    const bool is_dynamic = source != nullptr && dynamic_pattern(context, *source).has_value();
    if (!can_take(user, weight, is_dynamic)) return false;
  }
  return true;
}

std::optional<QuantizedWeight> quantized_weight_of(const QueryContext& context, const Node& product) {
  const Product* known = find_product(product);
  const Value* value = known == nullptr ? nullptr : OpCall(product).value(known->weight);
  if (value == nullptr) return std::nullopt;
  std::optional<QuantizedWeight> weight = quantized_weight(context, *value);
  if (!weight || !has_only_products(context, *weight)) return std::nullopt;
  return weight;
}

std::optional<DynamicPattern> dynamic_pattern(const QueryContext& context, const Node& node) {
  DynamicPattern pattern;
  pattern.choose = chooser_of(node);
  if (pattern.choose == nullptr || pattern.choose->def() == nullptr || !check_call(*pattern.choose))
    return std::nullopt;
  if (pattern.choose->results().size() != 2 || !chooses_rows(NodeQuery(context, *pattern.choose)))
    return std::nullopt;
  const DynamicOps& ops = *find_ops(*pattern.choose, &DynamicOps::choose);
  const Value* x = OpCall(*pattern.choose).value("input");
  for (const Use& use : pattern.choose->result(0)->uses()) {
    const Node* user = use.user();
    if (user->def() == nullptr || !check_call(*user) || !reads_choice(*user, *pattern.choose))
      return std::nullopt;
    const bool is_quantize = user->op() == ops.quantize;
    if (!keeps_range(NodeQuery(context, *user), is_quantize, x->tensor().dtype)) return std::nullopt;
    if (is_quantize && pattern.quantize == nullptr && user->operand(0) == x) {
      pattern.quantize = user;
    } else if (user->op() == ops.dequantize) {
      pattern.dequantize.push_back(user);
    } else {
      return std::nullopt;
    }
  }
  if (pattern.quantize == nullptr || pattern.dequantize.empty()) return std::nullopt;
  const auto is_ours = [&](const Use& use) {
    return use.user() == pattern.quantize || std::ranges::count(pattern.dequantize, use.user()) > 0;
  };
  for (const Use& use : pattern.choose->result(1)->uses())
    if (!is_ours(use)) return std::nullopt;
  for (const Use& use : pattern.quantize->result()->uses())
    if (!is_ours(use)) return std::nullopt;
  for (const Node* dequantize : pattern.dequantize) {
    if (dequantize->operand(0) != pattern.quantize->result()) return std::nullopt;
    for (const Use& use : dequantize->result()->uses()) {
      const Node& user = *use.user();
      const Product* product = find_product(user);
      if (product == nullptr || !check_call(user)) return std::nullopt;
      const OpCall call(user);
      const Value* weight = call.value(product->weight);
      if (call.value(product->input) != dequantize->result() || weight == dequantize->result())
        return std::nullopt;
      // XNNPACK has no scale per row of an image.
      if (product != &products[0] && &ops != &dynamic_ops[0]) return std::nullopt;
      const auto known = quantized_weight(context, *weight);
      if (!known || !can_take(user, *known, true)) return std::nullopt;
      pattern.products.push_back(&user);
    }
  }
  if (pattern.products.empty()) return std::nullopt;
  return pattern;
}

std::vector<const Node*> inseparable_nodes(const QueryContext& context, const Node& node) {
  std::vector<const Node*> nodes;
  if (const auto weight = quantized_weight_of(context, node)) nodes = {&node, weight->node};
  if (const auto pattern = dynamic_pattern(context, node)) {
    nodes.insert(nodes.end(), {&node, pattern->choose, pattern->quantize});
    nodes.insert(nodes.end(), pattern->dequantize.begin(), pattern->dequantize.end());
    nodes.insert(nodes.end(), pattern->products.begin(), pattern->products.end());
  }
  return nodes;
}

}  // namespace depute::xnnpack
