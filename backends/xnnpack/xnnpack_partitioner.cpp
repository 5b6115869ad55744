#include "xnnpack_partitioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "depute/backend/partitioners.h"
#include "depute/program/walk.h"
#include "find_repeats.h"
#include "quantized_patterns.h"
#include "xnnpack_backend.h"

namespace depute::xnnpack {
namespace {

// The runtime's flatbuffer verifier accepts a million tables; a node and its values need about ten.
constexpr std::uint32_t max_region_nodes = 50'000;

NodeSupport support(const QueryContext& context, const Node& node) {
  if (Check refusal = check_node(context, node))
    return refuse(refusal->rule, refusal->seen, refusal->allowed);
  switch (find_op_rule(node.op())->op_class) {
    case OpClass::Compute:
      return take();
    case OpClass::Move:
      return take(0);
    case OpClass::Relabel:
      return take_if_useful();
  }
  std::unreachable();
}

// Groups quantized weights with their readers, and dynamically quantized inputs with their products.
std::vector<std::vector<const Node*>> groups(const Options& options, const Program& program,
                                             const Method& method) {
  const QueryContext context{options, &program, &method};
  std::vector<std::vector<const Node*>> result;
  for (const Graph* graph : graphs_of(method)) {
    std::vector<std::vector<const Node*>> inseparable;
    for (const Node& node : graph->nodes()) {
      std::vector<const Node*> nodes = inseparable_nodes(context, node);
      if (nodes.size() > 1) inseparable.push_back(std::move(nodes));
    }
    for (auto& group : united(*graph, inseparable)) result.push_back(std::move(group));
  }
  return result;
}

// The option that costs decide where it is not given.
Setting* setting_of(std::string_view key, Options& options) {
  if (key == "layer_norm") return &options.layer_norm;
  return key == "repeats" ? &options.repeats : nullptr;
}

// Answers that were needed to find steps: planning asks about the same nodes again, several times.
using Answers = std::unordered_map<const Node*, NodeSupport>;

// Steps that repeat with the same weights, of nodes that are in no group.
std::vector<std::vector<const Node*>> steps(const QueryContext& context,
                                            const std::vector<std::vector<const Node*>>& groups,
                                            Answers& answers) {
  if (context.options.repeats == Setting::Never) return {};
  std::unordered_set<const Node*> grouped;
  for (const auto& group : groups) grouped.insert(group.begin(), group.end());
  return find_repeats(context, [&](const Node& node) {
    if (grouped.contains(&node)) return false;
    const NodeSupport& answer = answers.try_emplace(&node, support(context, node)).first->second;
    return answer.support != Support::Unsupported;
  });
}

// The options for preprocess().
std::vector<CompileSpec> compile_specs(const Options& options) {
  if (!options.half_weights) return {};
  const auto f16 = std::as_bytes(std::span(std::string_view("f16")));
  return {{std::string(weights_key), {f16.begin(), f16.end()}}};
}

OpsToNotDecompose ops_to_not_decompose(const Options& options) {
  OpsToNotDecompose kept;
  for (const OpRule* rule : all_op_rules()) {
    if (rule->keep_whole) kept.ops.emplace_back(rule->op);
  }
  kept.filter = [options](const Node& node) { return !check_node(QueryContext{options}, node).has_value(); };
  return kept;
}

Proposal propose(const Options& options, const Program& program, const Method& method) {
  Proposal proposal;
  const auto answers = std::make_shared<Answers>();
  proposal.support = [options, &program, &method, answers](const Node& node) {
    const auto known = answers->find(&node);
    return known != answers->end() ? known->second : support({options, &program, &method}, node);
  };
  proposal.options = {.owner = "xnnpack", .spec = {std::string(backend_id), compile_specs(options)}};
  proposal.options.groups = groups(options, program, method);
  proposal.options.isolated_sets = steps({options, &program, &method}, proposal.options.groups, *answers);
  proposal.options.regions.max_nodes = max_region_nodes;
  proposal.options.max_values = max_externals;
  return proposal;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> option_meanings() {
  return {
      {"layer_norm",
       "true or false: delegate native_layer_norm as several nodes (default: where this is cheaper)"},
      {"repeats",
       "true or false: make repeated steps with the same weights separate delegates, loaded once (default: "
       "where this is faster or saves many copies of weights)"},
      {std::string(weights_key),
       "f16: store the weights of matrix products as f16 and compute with f32 (default: f32)"}};
}

Result<std::unique_ptr<Partitioner>> make_xnnpack_partitioner(const BackendOptions& given) {
  Options options;
  for (const auto& [key, value] : given) {
    if (Setting* setting = setting_of(key, options);
        setting != nullptr && (value == "true" || value == "false")) {
      *setting = value == "true" ? Setting::Always : Setting::Never;
    } else if (key == weights_key && (value == "f16" || value == "f32")) {
      options.half_weights = value == "f16";
    } else {
      return failure("usage", "--backend xnnpack", fmt::format("unknown option '{}={}'", key, value),
                     "`depute backends xnnpack` lists the options");
    }
  }
  return std::make_unique<ProposalPartitioner>(
      [options](const Program& program, const Method& method) { return propose(options, program, method); },
      [options](const Program&) { return ops_to_not_decompose(options); });
}

}  // namespace depute::xnnpack
