// Recognizes quantization patterns around products, for rules and groups.
//
//   %w = dequantize_per_channel(%integers, %scales, ..)    a quantized weight: %integers is a constant
//
//   %s, %z = choose_qparams(%x)                            a dynamic input: rows or images as integers,
//   %q = quantize_per_tensor.tensor(%x, %s, %z)            with scales that are computed at run time
//   %d = dequantize_per_tensor.tensor(%q, %s, %z)
//
//   %y = linear(%d, %w)
#pragma once

#include <optional>
#include <vector>

#include "node_query.h"

namespace depute::xnnpack {

// Integers of the program that a node dequantizes; all zero points are 0.
struct QuantizedWeight {
  const Node* node = nullptr;
  const Value* integers = nullptr;  // i8
  const Value* scales = nullptr;    // f32; null: `scale` applies to all
  double scale = 0;
  std::size_t dim = 0;    // dimension whose slices have one scale each
  std::size_t group = 0;  // number of elements of a row per scale; 0: one scale per slice
  bool is_4bit = false;   // range -8 to 7
};
// Returns the weight if `value` is a constant that a node dequantizes in a supported way.
std::optional<QuantizedWeight> quantized_weight(const QueryContext& context, const Value& value);
// Returns the quantized weight of a product (linear, convolution) if the product can use its integers.
std::optional<QuantizedWeight> quantized_weight_of(const QueryContext& context, const Node& product);
// True if all readers of the weight can use its integers.
bool has_only_products(const QueryContext& context, const QuantizedWeight& weight);

struct DynamicPattern {
  const Node* choose = nullptr;
  const Node* quantize = nullptr;
  std::vector<const Node*> dequantize;
  std::vector<const Node*> products;
};
// Returns the pattern around one of its nodes. All readers of the quantized rows must be supported products.
std::optional<DynamicPattern> dynamic_pattern(const QueryContext& context, const Node& node);

// Returns the nodes that must be taken together with this one, including it. Empty if it can be taken alone.
std::vector<const Node*> inseparable_nodes(const QueryContext& context, const Node& node);

}  // namespace depute::xnnpack
