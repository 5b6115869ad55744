// Builds the logical graph: what the rules in ops/ translate nodes with.
//
//   void translate_silu(Emitter& emit, const OpCall& call) {
//     ValueId x = emit.input(call, "self");
//     emit.result(emit.add(NodeKind::Multiply, {x, emit.add(NodeKind::Sigmoid, {x})}));
//   }
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "depute/op.h"
#include "depute/program.h"
#include "graph.h"

namespace depute::xnnpack {

class Emitter {
 public:
  Emitter(const Program& program, const Method& method);

  // Nodes to come stand for `node`.
  void begin(const Node& node);
  // The method's results, and the graph.
  XnnGraph finish();

  // --- operands
  ValueId input(const depute::Value& value);
  ValueId input(const OpCall& call, std::string_view name) { return input(*call.value(name)); }
  // no_value for None.
  ValueId optional_input(const OpCall& call, std::string_view name);
  // A tensor or a number; a number becomes a constant that broadcasts against `like`.
  ValueId operand(const OpCall& call, std::string_view name, ValueId like);
  ValueId number(double value, ValueId like);
  ValueId constant(Constant constant) { return graph_.add_constant(std::move(constant)); }
  const Constant* constant_of(ValueId id) const;

  const Dims& sizes(ValueId id) const { return graph_.values[id].sizes; }
  std::size_t rank(ValueId id) const { return sizes(id).size(); }
  ScalarType dtype(ValueId id) const { return graph_.values[id].dtype; }

  // --- nodes. Results have the first input's element type, and the sizes of all inputs broadcast unless
  // given.
  ValueId add(NodeKind kind, std::initializer_list<ValueId> inputs, NodeParams params = {});
  ValueId add_sized(NodeKind kind, std::span<const ValueId> inputs, Dims sizes, NodeParams params = {},
                    std::uint32_t flags = 0);
  ValueId add_sized(NodeKind kind, std::initializer_list<ValueId> inputs, Dims sizes, NodeParams params = {},
                    std::uint32_t flags = 0);
  ValueId clamp(ValueId id, double min, double max);
  ValueId convert(ValueId id, ScalarType dtype);
  // These add no node where nothing changes, and fold into constants.
  ValueId reshape(ValueId id, const Dims& sizes);
  ValueId permute(ValueId id, const Order& order);
  ValueId slice(ValueId id, std::size_t dim, std::int64_t offset, std::int64_t size);
  ValueId expand(ValueId id, const Dims& sizes);

  // --- results of the node begun with
  void result(ValueId id, std::size_t i = 0);
  const Dims& result_sizes(std::size_t i = 0) const { return node_->result(i)->tensor().sizes; }

 private:
  const Program& program_;
  const Method& method_;
  XnnGraph graph_;
  const Node* node_ = nullptr;
  std::unordered_map<const depute::Value*, ValueId> values_;
};

// Sizes of two tensors that are computed with element by element. Of two that are not known to be equal the
// first stays: what XNNPACK can take was asked before.
Dims broadcast_known(const Dims& a, const Dims& b);

}  // namespace depute::xnnpack
