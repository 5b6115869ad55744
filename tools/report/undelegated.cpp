#include "tools/report/undelegated.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "tools/report/page_facts.h"

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

// Size of the tensors that the node reads (including constants) and writes.
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

std::string amount_text(const std::optional<std::uint64_t>& amount, std::string_view unit) {
  if (!amount) return "unbounded";
  constexpr std::array<std::pair<std::uint64_t, char>, 3> steps = {
      {{1'000'000'000, 'G'}, {1'000'000, 'M'}, {1'000, 'k'}}};
  for (const auto& [step, letter] : steps) {
    if (*amount >= step)
      return fmt::format("{:.1f} {}{}", static_cast<double>(*amount) / static_cast<double>(step), letter,
                         unit);
  }
  return fmt::format("{}{}{}", *amount, unit.empty() ? "" : " ", unit);
}

std::string kinds_text(const std::vector<Undelegated>& kinds) {
  constexpr std::size_t told = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(told, kinds.size()); ++i) {
    const std::size_t nodes = kinds[i].cost.nodes;
    text +=
        fmt::format("{}{}{}", i == 0 ? "" : ", ", nodes == 1 ? "" : fmt::format("{} x ", nodes), kinds[i].op);
  }
  return kinds.size() <= told ? text : text + fmt::format(" and {} more", kinds.size() - told);
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

std::vector<Undelegated> group_undelegated(const Report& report) {
  std::map<std::pair<std::string, std::string>, Undelegated> groups;
  for (const NodeReport& node : report.nodes) {
    if (!is_undelegated(node)) continue;
    Undelegated& group = groups[{std::string(node.op.str()), reasons_text(node)}];
    if (group.cost.nodes == 0) group.first_source = node.source;
    group.cost.add(report, node);
  }
  std::vector<Undelegated> sorted;
  for (auto& [key, group] : groups) {
    group.op = key.first;
    group.reason = key.second;
    sorted.push_back(std::move(group));
  }
  std::ranges::stable_sort(sorted, costs_more, &Undelegated::cost);
  return sorted;
}

std::vector<RefusedByRule> group_by_rule(const Report& report) {
  std::map<std::string, std::map<std::string, Undelegated>> rules;
  std::map<std::string, NodeCost> costs;
  for (const NodeReport& node : report.nodes) {
    if (!is_undelegated(node)) continue;
    const std::string rule = rules_text(node);
    Undelegated& kind = rules[rule][std::string(node.op.str())];
    kind.op = node.op.str();
    if (kind.cost.nodes == 0) kind.first_source = node.source;
    kind.cost.add(report, node);
    costs[rule].add(report, node);
  }
  std::vector<RefusedByRule> sorted;
  for (auto& [rule, kinds] : rules) {
    RefusedByRule& refused = sorted.emplace_back(RefusedByRule{.rule = rule, .cost = costs[rule]});
    for (auto& [op, kind] : kinds) refused.kinds.push_back(std::move(kind));
    std::ranges::stable_sort(refused.kinds, costs_more, &Undelegated::cost);
  }
  std::ranges::stable_sort(sorted, costs_more, &RefusedByRule::cost);
  return sorted;
}

namespace {

// A cause, and a few examples of the seen values for each backend, in program order.
struct OpenCause {
  LeftByCause cause;
  NodeReport reasons;  // reasons of the first node
  std::vector<std::vector<std::string>> seen;
  std::map<std::string, Undelegated> kinds;
};

// A reason that names the op is a separate cause; other seen values are only examples.
bool is_of_op(const NodeReport& node, const Verdict& verdict) {
  return verdict.seen == node.op.str();
}

std::string cause_key(const NodeReport& node) {
  std::string key;
  for (const auto& [backend, verdict] : node.reasons)
    key += fmt::format("{}\n{}\n{}\n{}\n", backend, verdict.rule, verdict.allowed,
                       is_of_op(node, verdict) ? verdict.seen : "");
  return key;
}

std::string seen_text(const std::vector<std::string>& seen) {
  constexpr std::size_t told = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(told, seen.size()); ++i) text += (i == 0 ? "" : ", ") + seen[i];
  return seen.size() <= told ? text : text + fmt::format(" and {} more", seen.size() - told);
}

}  // namespace

std::vector<LeftByCause> group_by_cause(const Report& report) {
  std::map<std::string, OpenCause> causes;
  for (const NodeReport& node : report.nodes) {
    if (!is_undelegated(node)) continue;
    OpenCause& open = causes[cause_key(node)];
    if (open.cause.nodes.empty()) open.reasons = node;
    open.cause.nodes.push_back(&node);
    open.cause.cost.add(report, node);
    open.seen.resize(node.reasons.size());
    for (std::size_t i = 0; i < node.reasons.size(); ++i) {
      const std::string& seen = node.reasons[i].second.seen;
      if (std::ranges::find(open.seen[i], seen) == open.seen[i].end()) open.seen[i].push_back(seen);
    }
    Undelegated& kind = open.kinds[std::string(node.op.str())];
    kind.op = node.op.str();
    kind.cost.add(report, node);
  }
  std::vector<LeftByCause> sorted;
  for (auto& [key, open] : causes) {
    for (std::size_t i = 0; i < open.seen.size(); ++i)
      open.reasons.reasons[i].second.seen = seen_text(open.seen[i]);
    open.cause.reason = reasons_text(open.reasons);
    for (auto& [op, kind] : open.kinds) open.cause.kinds.push_back(std::move(kind));
    std::ranges::stable_sort(open.cause.kinds, costs_more, &Undelegated::cost);
    sorted.push_back(std::move(open.cause));
  }
  std::ranges::stable_sort(sorted, costs_more, &LeftByCause::cost);
  return sorted;
}

}  // namespace depute
