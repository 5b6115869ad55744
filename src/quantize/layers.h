// The layers that rules can choose: products with a constant matrix, and lookups of its rows.
//
//   aten.linear.default(%x, %w, %b)                  input %x, weight %w, bias %b
//   aten.matmul.default(%x, %t), %t = aten.t(%w)     input %x, weight %w
//   aten.addmm.default(%b, %x, %w)                   input %x, weight %w as [in, out], bias %b
#pragma once

#include <optional>

#include "depute/compiler/quantize.h"
#include "depute/program/op.h"

namespace depute {

struct Layer {
  QuantizeRule::Target target = QuantizeRule::Target::Linear;
  const Value* input = nullptr;  // for products
  // the graph input that the op reads through views, or else the value that it reads
  const Value* weight = nullptr;
  const Value* bias = nullptr;  // for products; may be null
  bool is_turned = false;       // the product uses the weight's columns, not its rows
  bool is_product = false;   // neither a linear nor an embedding op: a layer only if the weight is constant
  bool reads_weight = true;  // the op reads the weight itself, not a transpose of it
};

// Returns nullopt if the node is not a layer, or if its arguments do not fit its op.
std::optional<Layer> layer_of(const Node& node);

// True if a node may write to the value or to an alias of it, for programs that are not functional yet.
bool may_be_written(const Value& value);

}  // namespace depute
