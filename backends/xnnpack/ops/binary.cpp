// Arithmetic on two tensors, or on a tensor and a number. Numbers become constants of the payload.
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

// Either operand may be a number, but not both.
Check check_operands(const NodeQuery& node) {
  bool has_tensor = false;
  for (std::string_view name : {"self", "other"}) {
    const Value* value = node.call.value(name);
    has_tensor = has_tensor || (value != nullptr && value->type().is_tensor());
    if (value == nullptr || !value->type().is_tensor()) DEPUTE_REFUSE_IF(need_number(node, name));
  }
  return has_tensor ? Check() : refuse_argument(node, "self", "a tensor");
}

Check check_scaled_operands(const NodeQuery& node) {
  DEPUTE_REFUSE_IF(check_operands(node));
  return need_number(node, "alpha");
}

struct Operands {
  ValueId left;
  ValueId right;
};

// Returns `self` and `factor * other`.
Operands operands(Emitter& emit, const OpCall& call, double factor) {
  if (call.value("other") == nullptr) {
    const ValueId left = emit.input(call, "self");
    return {left, emit.number(factor * call["other"].as_double(), left)};
  }
  ValueId right = emit.input(call, "other");
  const ValueId left = emit.operand(call, "self", right);
  if (factor != 1) right = emit.add(NodeKind::Multiply, {right, emit.number(factor, right)});
  return {left, right};
}

template <NodeKind kind>
void binary(Emitter& emit, const OpCall& call) {
  const Operands in = operands(emit, call, 1);
  emit.result(emit.add(kind, {in.left, in.right}));
}

// self + alpha * other, self - alpha * other
template <NodeKind kind>
void scaled_binary(Emitter& emit, const OpCall& call) {
  const Operands in = operands(emit, call, call["alpha"].as_double());
  emit.result(emit.add(kind, {in.left, in.right}));
}

Check check_reversed(const NodeQuery& node) {
  DEPUTE_REFUSE_IF(check_scaled_operands(node));
  return node.call.value("self") != nullptr ? Check() : refuse_argument(node, "self", "a tensor");
}

// other - alpha * self
void reversed_subtract(Emitter& emit, const OpCall& call) {
  ValueId self = emit.input(call, "self");
  const ValueId other = emit.operand(call, "other", self);
  const double alpha = call["alpha"].as_double();
  if (alpha != 1) self = emit.add(NodeKind::Multiply, {self, emit.number(alpha, self)});
  emit.result(emit.add(NodeKind::Subtract, {other, self}));
}

using enum NodeKind;

}  // namespace

std::span<const OpRule> binary() {
  static constexpr OpRule rules[] = {
      {.op = "aten.add.Scalar",
       .takes_numbers = true,
       .check = check_scaled_operands,
       .translate = scaled_binary<Add>},
      {.op = "aten.add.Tensor",
       .takes_numbers = true,
       .check = check_scaled_operands,
       .translate = scaled_binary<Add>},
      {.op = "aten.div.Scalar", .takes_numbers = true, .check = check_operands, .translate = binary<Div>},
      {.op = "aten.div.Tensor", .takes_numbers = true, .check = check_operands, .translate = binary<Div>},
      {.op = "aten.maximum.default",
       .takes_numbers = true,
       .check = check_operands,
       .translate = binary<Maximum>},
      {.op = "aten.minimum.default",
       .takes_numbers = true,
       .check = check_operands,
       .translate = binary<Minimum>},
      {.op = "aten.mul.Scalar",
       .takes_numbers = true,
       .check = check_operands,
       .translate = binary<Multiply>},
      {.op = "aten.mul.Tensor",
       .takes_numbers = true,
       .check = check_operands,
       .translate = binary<Multiply>},
      {.op = "aten.rsub.Scalar",
       .takes_numbers = true,
       .check = check_reversed,
       .translate = reversed_subtract},
      {.op = "aten.rsub.Tensor",
       .takes_numbers = true,
       .check = check_reversed,
       .translate = reversed_subtract},
      {.op = "aten.sub.Scalar",
       .takes_numbers = true,
       .check = check_scaled_operands,
       .translate = scaled_binary<Subtract>},
      {.op = "aten.sub.Tensor",
       .takes_numbers = true,
       .check = check_scaled_operands,
       .translate = scaled_binary<Subtract>},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
