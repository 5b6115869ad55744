// Takes every node that a rule of ops/ translates, in the fewest regions.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ranges>
#include <utility>

#include "depute/backend/partitioners.h"
#include "op_rule.h"
#include "partition/node_names.h"
#include "tosa_backend.h"

namespace depute::tosa {
namespace {

using Excluded = std::vector<std::string>;

bool is_excluded(const Node& node, const Excluded& excluded) {
  return std::ranges::any_of(excluded,
                             [&](const std::string& parts) { return has_parts(node.op().str(), parts); });
}

NodeSupport support(const Node& node, const Program& program, const Method& method,
                    const Excluded& excluded) {
  if (is_excluded(node, excluded)) return refuse("excluded");
  if (const Check refusal = check_node(node, &program, &method))
    return refuse(refusal->rule, refusal->seen, refusal->allowed);
  return find_op_rule(node.op())->op_class == OpClass::Compute ? take() : take(0);
}

OpsToNotDecompose ops_to_not_decompose(const Excluded& excluded) {
  OpsToNotDecompose kept;
  for (const OpRule* rule : all_op_rules()) {
    if (rule->keep_whole) kept.ops.emplace_back(rule->op);
  }
  kept.filter = [excluded](const Node& node) {
    return !is_excluded(node, excluded) && !check_node(node, nullptr, nullptr).has_value();
  };
  return kept;
}

}  // namespace

std::vector<SupportRow> support_rows() {
  std::vector<SupportRow> rows;
  for (const OpRule* rule : all_op_rules())
    rows.push_back({.op = std::string(rule->op), .conditions = std::string(rule->conditions)});
  return rows;
}

std::vector<std::pair<std::string, std::string>> option_meanings() {
  return {{"exclude", "ops that are not delegated, joined by '+': gelu+aten.mul.Tensor"}};
}

Result<std::unique_ptr<Partitioner>> make_partitioner(std::string_view owner, const DelegationSpec& spec,
                                                      const BackendOptions& options) {
  Excluded excluded;
  for (const auto& [key, value] : options) {
    if (key != "exclude") {
      return failure("usage", fmt::format("--backend {}", owner),
                     fmt::format("unknown option '{}={}'", key, value),
                     fmt::format("`depute backends {}` lists the options", owner));
    }
    for (const auto part : std::views::split(value, '+')) excluded.emplace_back(part.begin(), part.end());
  }
  return std::make_unique<ProposalPartitioner>(
      [excluded, owner = std::string(owner), spec](const Program& program, const Method& method) {
        Proposal proposal;
        proposal.support = [excluded, &program, &method](const Node& node) {
          return support(node, program, method, excluded);
        };
        proposal.options = {.owner = owner, .spec = spec};
        return proposal;
      },
      [excluded](const Program&) { return ops_to_not_decompose(excluded); });
}

}  // namespace depute::tosa
