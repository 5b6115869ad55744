#include "op_rule.h"

#include "op_rules_list.h"
#include "partition/rule_table.h"

namespace depute::xnnpack {
namespace {

constexpr RefusalRule refusals[] = {
    {"argument", "an argument has a value that XNNPACK's nodes do not support"},
    {"dtype", "a tensor's element type is not f32 or f16, or types are mixed"},
    {"dynamic-shape", "a size that must be constant is known only at run time"},
    {"kernel", "ExecuTorch's own kernel is faster; an option selects XNNPACK anyway"},
    {"layout", "a tensor is not contiguous"},
    {"no-compute", "the nodes of the partition only move elements and compute nothing"},
    {"op", "there is no rule for the op"},
    {"quantization", "a quantization scheme that XNNPACK's nodes do not support, or not at this place"},
    {"rank", "a tensor has more or fewer dimensions than the node allows"},
    {"static-weight", "weights are computed at run time, or mutated"},
    {"symbolic", "an argument is computed at run time"},
    {"unbounded", "a size has no upper bound"},
    {"unused-result", "a result that XNNPACK does not compute is used"},
    {"zero-size", "a tensor has no elements"},
};

const rules::RuleTable<OpRule>& rule_table() {
  static const rules::RuleTable<OpRule> table(op_rule_families());
  return table;
}

}  // namespace

const OpRule* find_op_rule(Name op) {
  return rule_table().find(op);
}

std::span<const OpRule* const> all_op_rules() {
  return rule_table().ordered();
}

std::span<const RefusalRule> refusal_rules() {
  return refusals;
}

}  // namespace depute::xnnpack
