#include "op_rule.h"

#include <fmt/format.h>

#include <unordered_map>
#include <vector>

#include "depute/program/text.h"
#include "emitter.h"
#include "op_rules_list.h"
#include "partition/tag_data.h"

namespace depute::tosa {
namespace {

struct RuleTable {
  std::vector<const OpRule*> ordered;
  std::unordered_map<Name, const OpRule*> by_op;

  RuleTable() {
    for (std::span<const OpRule> family : op_rule_families()) {
      for (const OpRule& rule : family) {
        ordered.push_back(&rule);
        by_op[Name(rule.op)] = &rule;
      }
    }
  }
};

const RuleTable& rule_table() {
  static const RuleTable table;
  return table;
}

Check check_tensor(const TensorType& type) {
  if (type.rank() > max_rank)
    return Refusal{"rank", std::to_string(type.rank()), fmt::format("at most {}", max_rank)};
  for (const SymInt& size : type.sizes) {
    if (!size.is_constant()) return Refusal{"dynamic-shape", str(type), "constant sizes"};
    if (size == 0) return Refusal{"zero-size", str(type), "at least one element"};
  }
  return {};
}

// Conditions on all nodes: sizes, and arguments that are known.
Check check_generally(const Node& node) {
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Value& operand = *node.operand(i);
    if (!operand.type().is_tensor())
      return Refusal{"symbolic", std::string(operand.name().str()), "a number"};
    DEPUTE_REFUSE_IF(check_tensor(operand.tensor()));
  }
  for (const Value* result : node.results()) {
    if (!result->type().is_tensor()) return Refusal{"argument", str(result->type()), "tensors as results"};
    if (result->has_uses()) DEPUTE_REFUSE_IF(check_tensor(result->tensor()));
  }
  // Of the others rules say that they must not be used.
  const ScalarType dtype = node.result(0)->tensor().dtype;
  if (!dtype_of(dtype)) return Refusal{"dtype", std::string(depute::name(dtype)), std::string(known_types)};
  return {};
}

}  // namespace

const OpRule* find_op_rule(Name op) {
  const RuleTable& table = rule_table();
  const auto found = table.by_op.find(op);
  return found == table.by_op.end() ? nullptr : found->second;
}

std::span<const OpRule* const> all_op_rules() {
  return rule_table().ordered;
}

Check check_node(const Node& node, const Program* program, const Method* method) {
  if (find_op_rule(node.op()) == nullptr) return Refusal{"op", {}, {}};
  Emitter emit(program, method);
  return translate_node(emit, node);
}

Check translate_node(Emitter& emit, const Node& node) {
  const OpRule* rule = find_op_rule(node.op());
  if (rule == nullptr) return Refusal{"op", {}, {}};
  DEPUTE_REFUSE_IF(check_generally(node));
  emit.begin(node);
  DEPUTE_REFUSE_IF(rule->translate(emit, OpCall(node)));
  return emit.refusal();
}

Check refuse_argument(const OpCall& call, std::string_view name, std::string_view allowed) {
  return Refusal{"argument", fmt::format("{} = {}", name, print(call[name])), std::string(allowed)};
}

}  // namespace depute::tosa
