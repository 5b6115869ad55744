#include "op_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "depute/program/text.h"
#include "emitter.h"
#include "op_rules_list.h"
#include "partition/rule_table.h"

namespace depute::tosa {
namespace {

const rules::RuleTable<OpRule>& rule_table() {
  static const rules::RuleTable<OpRule> table(op_rule_families());
  return table;
}

// Conditions on all nodes: sizes, and arguments that are known.
Check check_generally(const Node& node, const OpRule& rule, Version version) {
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Value& operand = *node.operand(i);
    if (!operand.type().is_tensor())
      return Refusal{"symbolic", std::string(operand.name().str()), "a number"};
    DEPUTE_REFUSE_IF(check_tensor(operand.tensor()));
  }
  const bool is_flow = rule.op_class == OpClass::ControlFlow;
  for (const Value* result : node.results()) {
    if (is_flow && !result->has_uses()) continue;
    if (!result->type().is_tensor()) return Refusal{"argument", str(result->type()), "tensors as results"};
    if (result->has_uses()) DEPUTE_REFUSE_IF(check_tensor(result->tensor()));
  }
  if (is_flow) return {};
  // Only result 0 is checked: rules refuse nodes whose other results are used, where TOSA has none.
  const ScalarType dtype = node.result(0)->tensor().dtype;
  if (!dtype_of(dtype, version) && !(rule.gives_i64 && dtype == ScalarType::I64))
    return Refusal{"dtype", std::string(depute::name(dtype)), std::string(known_types(version))};
  return {};
}

// The scale that all operands and the result have. Operands with other scales are changed to the one that is wanted.
std::optional<Quantization> common_scale(Emitter& emit, const Node& node) {
  std::optional<Quantization> common;
  bool is_one = true;
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Value& operand = *node.operand(i);
    if (operand.tensor().dtype != ScalarType::F32) continue;
    const auto known = emit.integers(operand);
    if (!known && !emit.constant_floats(operand)) return std::nullopt;
    if (!known || known->quantization != common.value_or(known->quantization)) is_one = false;
    if (known && !common) common = known->quantization;
  }
  if (!common || is_one) return common;
  return emit.wanted(*node.result());
}

Check in_integers(Emitter& emit, const OpRule& rule, const OpCall& call) {
  const Node& node = *call.node();
  if (rule.integers != IntegerForm::Own && node.result()->tensor().dtype != ScalarType::F32)
    return refuse_integers("a result that is not f32");
  switch (rule.integers) {
    case IntegerForm::None:
      return refuse_integers("an op without a form for integers");
    case IntegerForm::SameScale: {
      const auto scale = common_scale(emit, node);
      if (!scale) return refuse_integers(no_integers);
      emit.compute_in(*scale);
      return rule.translate(emit, call);
    }
    case IntegerForm::Clamp: {
      const auto x = emit.integers(*node.operand(0));
      const auto scale = emit.wanted(*node.result());
      if (!x || !scale) return refuse_integers(x ? not_quantized : no_integers);
      if (x->quantization != *scale) return translate_by_table(emit, call);
      emit.compute_in(*scale);
      return rule.translate(emit, call);
    }
    case IntegerForm::Table:
      return translate_by_table(emit, call);
    case IntegerForm::Own:
      return rule.translate_integers(emit, call);
  }
  return {};
}

}  // namespace

Check check_tensor(const TensorType& type) {
  if (type.rank() > max_rank)
    return Refusal{"rank", std::to_string(type.rank()), fmt::format("at most {}", max_rank)};
  for (const SymInt& size : type.sizes) {
    if (!size.is_constant()) return Refusal{"dynamic-shape", str(type), "constant sizes"};
    if (size == 0) return Refusal{"zero-size", str(type), "at least one element"};
  }
  return {};
}

const OpRule* find_op_rule(Name op) {
  return rule_table().find(op);
}

std::span<const OpRule* const> all_op_rules() {
  return rule_table().ordered();
}

Check check_node(const Node& node, const Program* program, const Method* method, const Device& device,
                 const IntegerFacts* facts) {
  if (find_op_rule(node.op()) == nullptr) return Refusal{"op", {}, {}};
  Emitter emit(program, method, device, Scope::Node, facts);
  DEPUTE_REFUSE_IF(translate_node(emit, node));
  return device.limit == nullptr ? Check() : emit.check_orders(node);
}

Check translate_node(Emitter& emit, const Node& node) {
  const OpRule* rule = find_op_rule(node.op());
  if (rule == nullptr) return Refusal{"op", {}, {}};
  DEPUTE_REFUSE_IF(check_generally(node, *rule, emit.version()));
  Check why_floats;
  const bool has_integers = rule->integers != IntegerForm::None && emit.profile() != Profile::Floats;
  if (has_integers || rule->translate == nullptr) {
    why_floats = translate_integers(emit, node);
    if (!why_floats || rule->translate == nullptr) return why_floats;
  }
  emit.begin(node);
  Check refusal = rule->translate(emit, OpCall(node));
  if (!refusal) refusal = emit.refusal();
  return refusal && refusal->rule == "profile" && why_floats ? why_floats : refusal;
}

Check translate_integers(Emitter& emit, const Node& node) {
  const OpRule* rule = find_op_rule(node.op());
  DEPUTE_REFUSE_IF(check_generally(node, *rule, emit.version()));
  emit.begin(node);
  const Check refusal = in_integers(emit, *rule, OpCall(node));
  const Check later = refusal ? refusal : emit.refusal();
  emit.compute_in_floats();
  if (later) emit.forget_refusal();
  return later;
}

Check translate_by_table(Emitter& emit, const OpCall& call) {
  const Node& node = *call.node();
  const auto result = emit.wanted(*node.result());
  if (!result) return refuse_integers(not_quantized);
  const auto constant_of = [&](const Value& value) { return emit.constant_data_of(value); };
  const Value* varying = nullptr;
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Value* operand = node.operand(i);
    const TensorData* data = constant_of(*operand);
    if (data != nullptr && data->type.numel() == SymInt(1) && !data->storage->is_elided()) continue;
    if (varying != nullptr && varying != operand) return refuse_integers("two operands that vary");
    varying = operand;
  }
  if (varying == nullptr) return refuse_integers("operands that are constants");
  const auto x = emit.integers(*varying);
  if (!x || x->tensor.shape != emit.result_shape()) return refuse_integers(no_integers);
  const auto table = [&](const Quantization& from, const Quantization& to) {
    return table_of(node, *varying, from, to, constant_of);
  };
  const auto made = emit.look_up(*x, *result, table);
  if (!made) return refuse_integers("a function without a reference kernel");
  return emit.integer_result(*made, *result);
}

std::vector<const Node*> integer_partners(const Node& node, const Program& program, const Method& method,
                                          const Device& device, const IntegerFacts& facts) {
  std::vector<const Node*> partners;
  const OpRule* rule = find_op_rule(node.op());
  if (rule == nullptr || rule->integers == IntegerForm::None || device.profile == Profile::Floats ||
      check_generally(node, *rule, device.version))
    return partners;
  Emitter emit(&program, &method, device, Scope::Node, &facts);
  if (translate_integers(emit, node)) return partners;
  const auto add = [&](const Node* other) {
    if (other != nullptr && std::ranges::find(partners, other) == partners.end()) partners.push_back(other);
  };
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Value& operand = *node.operand(i);
    const Node* producer = operand.producer();
    const bool is_constant =
        producer != nullptr && is_scale_op(producer->op()) && operand.tensor().dtype == ScalarType::F32;
    if (emit.has_integers(operand) || is_constant) add(producer);
  }
  for (const Value* result : node.results()) {
    if (!emit.has_integers(*result) || !emit.wanted(*result)) continue;
    for (const Use& use : result->uses()) add(use.user());
  }
  return partners;
}

bool is_scale_op(Name op) {
  return op == dequantize_op || op == dequantize_channels_op || op == quantize_op;
}

Check refuse_integers(std::string_view reason) {
  return Refusal{"quantization", std::string(reason),
                 "i8 or i16 that is dequantized, computed with and quantized"};
}

Check refuse_argument(const OpCall& call, std::string_view name, std::string_view allowed) {
  return Refusal{"argument", fmt::format("{} = {}", name, print(call[name])), std::string(allowed)};
}

}  // namespace depute::tosa
