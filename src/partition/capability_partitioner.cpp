#include "depute/backend/capability_partitioner.h"

#include <fmt/format.h>

#include <memory>
#include <unordered_map>

namespace depute {
namespace {

constexpr std::size_t max_named_ops = 8;  // maximum number of ops listed in a verdict

std::string names_of(const std::vector<OpSupport>& rules) {
  std::string text;
  for (std::size_t i = 0; i < rules.size() && i < max_named_ops; ++i)
    text += (i == 0 ? "" : ", ") + rules[i].op;
  if (rules.size() > max_named_ops) text += fmt::format(" and {} more", rules.size() - max_named_ops);
  return text;
}

}  // namespace

SupportFunction support_by_op(std::vector<OpSupport> rules) {
  std::unordered_map<Name, SupportFunction> checks;
  std::string allowed = names_of(rules);
  for (OpSupport& rule : rules) checks.try_emplace(Name(rule.op), std::move(rule.check));
  return [checks = std::make_shared<const decltype(checks)>(std::move(checks)),
          allowed = std::move(allowed)](const Node& node) {
    auto found = checks->find(node.op());
    if (found == checks->end()) return refuse("op", node.op().str(), allowed);
    return found->second ? found->second(node) : take();
  };
}

}  // namespace depute
