// The rules of a backend by op. A Rule has the name of its op as `op`.
//
//   static const RuleTable<OpRule> table(op_rule_families());
//   table.find(node.op())
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "depute/program/name.h"

namespace depute::rules {

template <typename Rule>
class RuleTable {
 public:
  explicit RuleTable(const std::vector<std::span<const Rule>>& families) {
    for (std::span<const Rule> family : families) {
      for (const Rule& rule : family) {
        ordered_.push_back(&rule);
        by_op_[Name(rule.op)] = &rule;
      }
    }
  }

  // Returns null if there is no rule.
  const Rule* find(Name op) const {
    const auto found = by_op_.find(op);
    return found == by_op_.end() ? nullptr : found->second;
  }
  std::span<const Rule* const> ordered() const { return ordered_; }  // in the order of the families

 private:
  std::vector<const Rule*> ordered_;
  std::unordered_map<Name, const Rule*> by_op_;
};

}  // namespace depute::rules
