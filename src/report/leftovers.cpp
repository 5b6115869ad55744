#include "report/leftovers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "report/page_facts.h"

namespace depute {
namespace {

// "xnnpack: dtype (i64; allowed: f32, f16)"
std::string reason_text(const std::string& backend, const Verdict& verdict) {
  std::string text = fmt::format("{}: {}", backend, verdict.rule);
  if (verdict.seen.empty() && verdict.allowed.empty()) return text;
  text += " (";
  text += verdict.seen;
  if (!verdict.allowed.empty())
    text += fmt::format("{}allowed: {}", verdict.seen.empty() ? "" : "; ", verdict.allowed);
  return text + ")";
}

// "xnnpack: dtype, openvino: op"
std::string rules_text(const NodeReport& node) {
  std::string text;
  for (const auto& [backend, verdict] : node.reasons)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", backend, verdict.rule);
  return text;
}

using Bounded = std::optional<std::uint64_t>;

Bounded sum_of(const Bounded& a, const Bounded& b) {
  return a && b ? Bounded(*a + *b) : std::nullopt;
}

// Of the tensors that it reads, constants with them, and of those that it writes.
Bounded bytes_of_node(const PageFacts& facts, std::size_t number) {
  const PageNode& node = facts.nodes[number];
  const auto graph = std::prev(std::ranges::upper_bound(facts.graphs, number, {}, &PageGraph::first_node));
  Bounded bytes = node.constant_bytes;
  for (const PageValue& input : node.inputs) {
    const auto place = static_cast<std::size_t>(input.node < 0 ? -1 - input.node : input.node);
    bytes = sum_of(bytes, facts.type_bytes[input.node < 0 ? graph->inputs[place].type
                                                          : facts.nodes[place].types[input.result]]);
  }
  for (const std::uint32_t type : node.types) bytes = sum_of(bytes, facts.type_bytes[type]);
  return bytes;
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  if (bytes >= 10'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  if (bytes >= 10'000) return fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{} bytes", bytes);
}

std::string reasons_text(const NodeReport& node) {
  std::string text;
  for (const auto& [backend, verdict] : node.reasons) {
    if (!text.empty()) text += ", ";
    text += reason_text(backend, verdict);
  }
  return text.empty() ? "no backend was asked" : text;
}

void NodeCost::add(const Report& report, const NodeReport& node) {
  ++nodes;
  macs = sum_of(macs, node.macs);
  const auto number = static_cast<std::size_t>(&node - report.nodes.data());
  bytes = sum_of(bytes, report.page == nullptr ? std::nullopt : bytes_of_node(*report.page, number));
}

bool costs_more(const NodeCost& a, const NodeCost& b) {
  const auto key = [](const NodeCost& cost) {
    constexpr std::uint64_t unbounded = ~std::uint64_t{0};
    return std::tuple(cost.macs.value_or(unbounded), cost.bytes.value_or(unbounded), cost.nodes);
  };
  return key(a) > key(b);
}

std::vector<Leftovers> group_leftovers(const Report& report) {
  std::map<std::pair<std::string, std::string>, Leftovers> groups;
  for (const NodeReport& node : report.nodes) {
    if (!is_leftover(node)) continue;
    Leftovers& group = groups[{std::string(node.op.str()), reasons_text(node)}];
    if (group.cost.nodes == 0) group.first_source = node.source;
    group.cost.add(report, node);
  }
  std::vector<Leftovers> sorted;
  for (auto& [key, group] : groups) {
    group.op = key.first;
    group.reason = key.second;
    sorted.push_back(std::move(group));
  }
  std::ranges::stable_sort(sorted, costs_more, &Leftovers::cost);
  return sorted;
}

std::vector<RefusedByRule> group_by_rule(const Report& report) {
  std::map<std::string, std::map<std::string, Leftovers>> rules;
  std::map<std::string, NodeCost> costs;
  for (const NodeReport& node : report.nodes) {
    if (!is_leftover(node)) continue;
    const std::string rule = rules_text(node);
    Leftovers& kind = rules[rule][std::string(node.op.str())];
    kind.op = node.op.str();
    if (kind.cost.nodes == 0) kind.first_source = node.source;
    kind.cost.add(report, node);
    costs[rule].add(report, node);
  }
  std::vector<RefusedByRule> sorted;
  for (auto& [rule, kinds] : rules) {
    RefusedByRule& refused = sorted.emplace_back(RefusedByRule{.rule = rule, .cost = costs[rule]});
    for (auto& [op, kind] : kinds) refused.kinds.push_back(std::move(kind));
    std::ranges::stable_sort(refused.kinds, costs_more, &Leftovers::cost);
  }
  std::ranges::stable_sort(sorted, costs_more, &RefusedByRule::cost);
  return sorted;
}

}  // namespace depute
