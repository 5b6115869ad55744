// The layers that rules can choose: what multiplies by a constant matrix, or looks up its rows.
//
//   aten.linear.default(%x, %w, %b)                  input %x, weight %w, bias %b
//   aten.matmul.default(%x, %t), %t = aten.t(%w)     input %x, weight %w
//   aten.addmm.default(%b, %x, %w)                   input %x, weight %w turned, [in, out], bias %b
#pragma once

#include <optional>

#include "depute/op.h"
#include "depute/quantise.h"

namespace depute {

struct Layer {
  QuantiseRule::Target target = QuantiseRule::Target::Linear;
  const Value* input = nullptr;   // of a product
  const Value* weight = nullptr;  // where no view of an input of the graph is read: what is read
  const Value* bias = nullptr;    // of a product; may be null
  bool is_turned = false;         // the product is with the weight's columns, not its rows
  bool is_product = false;        // neither a linear nor an embedding: a layer where the weight is constant
  bool reads_weight = true;       // and no transpose of it
};

// Nothing where the node is none, or its arguments do not fit its op.
std::optional<Layer> layer_of(const Node& node);

// True where a node may write to the value, or hands it on to one that may: mutation is not undone yet.
bool may_be_written(const Value& value);

}  // namespace depute
