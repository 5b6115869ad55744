// Builds the logical graph. The rules in ops/ use it to translate nodes.
//
//   void translate_silu(Emitter& emit, const OpCall& call) {
//     ValueId x = emit.input(call, "self");
//     emit.result(emit.add(NodeKind::Multiply, {x, emit.add(NodeKind::Sigmoid, {x})}));
//   }
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "depute/program/op.h"
#include "depute/program/program.h"
#include "graph.h"
#include "quantized_patterns.h"

namespace depute::xnnpack {

class Emitter {
 public:
  Emitter(const Program& program, const Method& method);

  // Nodes added from now on belong to `node`.
  void begin(const Node& node);
  // Adds the method's results and returns the graph.
  XnnGraph finish();

  // --- operands
  ValueId input(const depute::Value& value);
  ValueId input(const OpCall& call, std::string_view name) { return input(*call.value(name)); }
  // Returns no_value for None.
  ValueId optional_input(const OpCall& call, std::string_view name);
  // Returns a tensor or a number; a number becomes a constant that broadcasts against `like`.
  ValueId operand(const OpCall& call, std::string_view name, ValueId like);
  ValueId number(double value, ValueId like);
  ValueId constant(Constant constant) { return graph_.add_constant(std::move(constant)); }
  const Constant* constant_of(ValueId id) const;
  // Returns the quantized weight if the node dequantizes a constant.
  std::optional<QuantizedWeight> weight_of(const Node& node) const;

  const Dims& sizes(ValueId id) const { return graph_.values[id].sizes; }
  std::size_t rank(ValueId id) const { return sizes(id).size(); }
  ScalarType dtype(ValueId id) const { return graph_.values[id].dtype; }

  // --- nodes. By default, results have the first input's element type and the broadcast sizes of all inputs.
  ValueId add(NodeKind kind, std::initializer_list<ValueId> inputs, NodeParams params = {});
  ValueId add_sized(NodeKind kind, std::span<const ValueId> inputs, Dims sizes, NodeParams params = {},
                    std::uint32_t flags = 0);
  ValueId add_sized(NodeKind kind, std::initializer_list<ValueId> inputs, Dims sizes, NodeParams params = {},
                    std::uint32_t flags = 0);
  ValueId clamp(ValueId id, double min, double max);
  ValueId convert(ValueId id, ScalarType dtype);
  ValueId quantize(ValueId id, const TensorScale& scale);
  // Dequantizes i8 values. From then on their scale is known to be `scale`.
  ValueId dequantize(ValueId id, const TensorScale& scale);
  // Marks the last product: its input is dynamically quantized per row or image.
  void quantize_rows() { graph_.nodes.back().quantizes_input = true; }
  // These fold into constants and add no node if nothing changes.
  ValueId reshape(ValueId id, const Dims& sizes);
  ValueId permute(ValueId id, const Order& order);
  ValueId slice(ValueId id, std::size_t dim, std::int64_t offset, std::int64_t size);
  ValueId expand(ValueId id, const Dims& sizes);

  // --- results of the current node
  void result(ValueId id, std::size_t i = 0);
  // Marks the result as dynamically quantized: the products that read it quantize it themselves.
  void result_in_rows(ValueId id);
  bool is_in_rows(const depute::Value& value) const { return in_rows_.contains(&value); }
  const Dims& result_sizes(std::size_t i = 0) const { return node_->result(i)->tensor().sizes; }

 private:
  const Program& program_;
  const Method& method_;
  XnnGraph graph_;
  const Node* node_ = nullptr;
  std::unordered_map<const depute::Value*, ValueId> values_;
  std::unordered_set<const depute::Value*> in_rows_;
};

// Broadcasts the sizes of two elementwise operands. If two sizes are not known to be equal, returns the
// first: the node was checked before.
Dims broadcast_known(const Dims& a, const Dims& b);

}  // namespace depute::xnnpack
