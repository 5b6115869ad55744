// Takes every node that a rule of ops/ translates, in the fewest regions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "depute/backend/partitioners.h"
#include "depute/program/walk.h"
#include "integer_groups.h"
#include "op_rule.h"
#include "tosa_backend.h"

namespace depute::tosa {
namespace {

// Nodes that are no operator of the delegate, or change its shape alone. i64 may be i32 there.
bool is_free(const Node& node, Version version) {
  const OpRule& rule = *find_op_rule(node.op());
  const bool is_conversion = rule.gives_i64 && rule.integers == IntegerForm::SameScale;
  return rule.op_class == OpClass::Move ||
         (is_conversion && !dtype_of(node.result()->tensor().dtype, version));
}

NodeSupport support(const Node& node, const Program& program, const Method& method, const Device& device,
                    const IntegerFacts& facts) {
  if (const Check refusal = check_node(node, &program, &method, device, &facts))
    return refuse(refusal->rule, refusal->seen, refusal->allowed);
  return is_free(node, device.version) ? take(0) : take();
}

// Judges nodes before their operands' integers are known: as floats, with which the profile of floats can say no.
OpsToNotDecompose ops_to_not_decompose(const Device& target) {
  Device device = {.version = target.version};
  if (target.profile == Profile::Floats) device.profile = target.profile;
  OpsToNotDecompose kept;
  for (const OpRule* rule : all_op_rules()) {
    if (rule->keep_whole) kept.ops.emplace_back(rule->op);
  }
  kept.filter = [device](const Node& node) { return !check_node(node, nullptr, nullptr, device, nullptr); };
  return kept;
}

Proposal propose(const Program& program, const Method& method, const Device& device) {
  const auto answers = std::make_shared<Answers>();
  const auto facts = std::make_shared<const IntegerFacts>(find_integer_facts(program, method, device));
  for (const Graph* graph : graphs_of(method)) {
    for (const Node& node : graph->nodes())
      answers->emplace(&node, support(node, program, method, device, *facts));
  }
  Proposal proposal;
  proposal.options.groups = group_integers(program, method, device, *facts, *answers);
  proposal.support = [answers, facts, device, &program, &method](const Node& node) {
    const auto known = answers->find(&node);
    return known != answers->end() ? known->second : support(node, program, method, device, *facts);
  };
  return proposal;
}

}  // namespace

std::vector<SupportRow> support_rows(const Device& device) {
  std::vector<SupportRow> rows;
  for (const OpRule* rule : all_op_rules()) {
    if (rule->op_class != OpClass::ControlFlow || device.control_flow)
      rows.push_back({.op = std::string(rule->op), .conditions = std::string(rule->conditions)});
  }
  return rows;
}

std::vector<std::pair<std::string, std::string>> option_meanings() {
  return {{std::string(profile_key),
           "INT: operators of integers alone; FP: of floats alone; FP+INT: all (default)"}};
}

Result<std::unique_ptr<Partitioner>> make_partitioner(std::string_view owner,
                                                      const DelegationSpec& given_spec,
                                                      const BackendOptions& given, Device device) {
  for (const auto& [key, value] : given) {
    if (key != profile_key)
      return failure("usage", fmt::format("--backend {}", owner),
                     fmt::format("unknown option '{}={}'", key, value),
                     fmt::format("`depute backends {}` lists the options", owner));
    constexpr std::array profiles = {Profile::All, Profile::Integers, Profile::Floats};
    const auto* const found =
        std::ranges::find(profiles, value, [](Profile profile) { return name(profile); });
    if (found == profiles.end())
      return failure("usage", fmt::format("--backend {}", owner),
                     fmt::format("'profile={}' is no profile", value), "profile=INT, FP or FP+INT");
    device.profile = *found;
  }
  DelegationSpec spec = given_spec;
  const bool is_default = device.profile == Profile::All && device.version == Version::V1_0;
  if (!is_default) spec.compile_specs.push_back(version_spec(device));
  return std::make_unique<ProposalPartitioner>(
      [device, owner = std::string(owner), spec](const Program& program, const Method& method) {
        Proposal proposal = propose(program, method, device);
        proposal.options.owner = owner;
        proposal.options.spec = spec;
        return proposal;
      },
      [device](const Program&) { return ops_to_not_decompose(device); });
}

}  // namespace depute::tosa
