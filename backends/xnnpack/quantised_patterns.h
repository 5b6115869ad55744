// Quantisation around products as programs write it, for the rules that take it and the groups it makes.
//
//   %w' = dequantize_per_channel(%w, %scales, ..)         a quantised weight: %w is a constant of the program
//   %s, %z = choose_qparams(%x)                           a dynamic input: rows, or images, in integers whose
//   scales are %q = quantize_per_tensor.tensor(%x, %s, %z)           found when the program runs %x' =
//   dequantize_per_tensor.tensor(%q, %s, %z) %y = linear(%x', %w')
#pragma once

#include <optional>
#include <vector>

#include "node_query.h"

namespace depute::xnnpack {

// Integers of the program that a node dequantises; all zero points are 0.
struct QuantisedWeight {
  const Node* node = nullptr;
  const Value* integers = nullptr;  // i8
  const Value* scales = nullptr;    // f32; null: all have the same, `scale`
  double scale = 0;
  std::size_t dim = 0;    // whose slices have a scale each
  std::size_t group = 0;  // else so many elements of a row have one; 0: slices
  bool is_4bit = false;   // from -8 to 7
};
// What `value` is when a node dequantises a constant in a way that this backend knows.
std::optional<QuantisedWeight> quantised_weight(const QueryContext& context, const Value& value);
// The weight of a product (linear, convolution) that takes it in integers.
std::optional<QuantisedWeight> quantised_weight_of(const QueryContext& context, const Node& product);
// Whether all that read this weight take it so.
bool has_only_products(const QueryContext& context, const QuantisedWeight& weight);

struct DynamicPattern {
  const Node* choose = nullptr;
  const Node* quantise = nullptr;
  std::vector<const Node*> dequantise;
  std::vector<const Node*> products;
};
// The whole pattern around one of its nodes, where everything that reads the rows is a product that can.
std::optional<DynamicPattern> dynamic_pattern(const QueryContext& context, const Node& node);

// Nodes that must be taken with this one, which is among them; none where it can be taken alone.
std::vector<const Node*> inseparable_nodes(const QueryContext& context, const Node& node);

}  // namespace depute::xnnpack
