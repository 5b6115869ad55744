// Takes every node that a rule of ops/ translates, in the fewest regions.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ranges>
#include <utility>

#include "depute/backend/partitioners.h"
#include "depute/program/walk.h"
#include "integer_groups.h"
#include "op_rule.h"
#include "partition/node_names.h"
#include "tosa_backend.h"

namespace depute::tosa {
namespace {

struct Options {
  std::vector<std::string> excluded;
  Device device = {};
};

bool is_excluded(const Node& node, const Options& options) {
  return std::ranges::any_of(options.excluded,
                             [&](const std::string& parts) { return has_parts(node.op().str(), parts); });
}

// Nodes that are no operator of the delegate, or change its shape alone. i64 is i32 there.
bool is_free(const Node& node) {
  const OpRule& rule = *find_op_rule(node.op());
  const bool is_conversion = rule.gives_i64 && rule.integers == IntegerForm::SameScale;
  return rule.op_class == OpClass::Move ||
         (is_conversion && node.result()->tensor().dtype == ScalarType::I64);
}

NodeSupport support(const Node& node, const Program& program, const Method& method, const Options& options,
                    const IntegerFacts& facts) {
  if (is_excluded(node, options)) return refuse("excluded");
  if (const Check refusal = check_node(node, &program, &method, options.device, &facts))
    return refuse(refusal->rule, refusal->seen, refusal->allowed);
  return is_free(node) ? take(0) : take();
}

OpsToNotDecompose ops_to_not_decompose(const Options& options) {
  OpsToNotDecompose kept;
  for (const OpRule* rule : all_op_rules()) {
    if (rule->keep_whole) kept.ops.emplace_back(rule->op);
  }
  kept.filter = [options](const Node& node) {
    return !is_excluded(node, options) && !check_node(node, nullptr, nullptr, Device{}, nullptr).has_value();
  };
  return kept;
}

Proposal propose(const Program& program, const Method& method, const Options& options) {
  const auto answers = std::make_shared<Answers>();
  const auto facts =
      std::make_shared<const IntegerFacts>(find_integer_facts(program, method, options.device));
  for (const Graph* graph : graphs_of(method)) {
    for (const Node& node : graph->nodes())
      answers->emplace(&node, support(node, program, method, options, *facts));
  }
  Proposal proposal;
  proposal.options.groups = group_integers(program, method, options.device, *facts, *answers);
  proposal.support = [answers, facts, options, &program, &method](const Node& node) {
    const auto known = answers->find(&node);
    return known != answers->end() ? known->second : support(node, program, method, options, *facts);
  };
  return proposal;
}

}  // namespace

std::vector<SupportRow> support_rows() {
  std::vector<SupportRow> rows;
  for (const OpRule* rule : all_op_rules())
    rows.push_back({.op = std::string(rule->op), .conditions = std::string(rule->conditions)});
  return rows;
}

std::vector<std::pair<std::string, std::string>> option_meanings() {
  return {{"exclude", "ops that are not delegated, joined by '+': gelu+aten.mul.Tensor"},
          {std::string(profile_key), "INT: operators of integers alone; FP+INT: all (default)"}};
}

Result<std::unique_ptr<Partitioner>> make_partitioner(std::string_view owner,
                                                      const DelegationSpec& given_spec,
                                                      const BackendOptions& given, Limit limit) {
  Options options;
  options.device.limit = limit;
  for (const auto& [key, value] : given) {
    if (key == profile_key && (value == "INT" || value == "FP+INT")) {
      options.device.profile = value == "INT" ? Profile::Integers : Profile::All;
      continue;
    }
    if (key == profile_key)
      return failure("usage", fmt::format("--backend {}", owner),
                     fmt::format("'profile={}' is no profile", value), "profile=INT or profile=FP+INT");
    if (key != "exclude") {
      return failure("usage", fmt::format("--backend {}", owner),
                     fmt::format("unknown option '{}={}'", key, value),
                     fmt::format("`depute backends {}` lists the options", owner));
    }
    for (const auto part : std::views::split(value, '+'))
      options.excluded.emplace_back(part.begin(), part.end());
  }
  DelegationSpec spec = given_spec;
  if (options.device.profile == Profile::Integers)
    spec.compile_specs.push_back(profile_spec(options.device.profile));
  return std::make_unique<ProposalPartitioner>(
      [options, owner = std::string(owner), spec](const Program& program, const Method& method) {
        Proposal proposal = propose(program, method, options);
        proposal.options.owner = owner;
        proposal.options.spec = spec;
        return proposal;
      },
      [options](const Program&) { return ops_to_not_decompose(options); });
}

}  // namespace depute::tosa
