#include "tools/report/undelegated.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "support/number_text.h"
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

// Adds a node to the group of its op.
void add_to(Undelegated& group, const Report& report, const NodeReport& node) {
  if (group.cost.nodes == 0) group.first_source = node.source;
  group.op = node.op.str();
  group.cost.add(report, node);
}

template <typename Key, typename Group>
std::vector<Group> costliest_first(std::map<Key, Group>& groups) {
  std::vector<Group> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::ranges::stable_sort(sorted, costs_more, &Group::cost);
  return sorted;
}

// "a, b, c and 2 more"
std::string first_texts(const std::vector<std::string>& texts) {
  const std::size_t shown = shown_of(texts.size(), 3);
  const std::string first =
      fmt::format("{}", fmt::join(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return texts.size() == shown ? first : fmt::format("{} and {} more", first, texts.size() - shown);
}

}  // namespace

std::string kinds_text(const std::vector<Undelegated>& kinds) {
  std::vector<std::string> texts;
  for (const Undelegated& kind : kinds)
    texts.push_back(kind.cost.nodes == 1 ? kind.op : fmt::format("{} x {}", kind.cost.nodes, kind.op));
  return first_texts(texts);
}

std::string reasons_text(const NodeReport& node) {
  std::string text;
  for (const auto& [backend, verdict] : node.reasons) {
    if (!text.empty()) text += ", ";
    text += reason_text(backend, verdict);
  }
  return text.empty() ? "no backend was given" : text;
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
    if (is_undelegated(node)) add_to(groups[{std::string(node.op.str()), reasons_text(node)}], report, node);
  }
  for (auto& [key, group] : groups) group.reason = key.second;
  return costliest_first(groups);
}

std::vector<RefusedByRule> group_by_rule(const Report& report) {
  std::map<std::string, RefusedByRule> rules;
  std::map<std::string, std::map<std::string, Undelegated>> kinds;
  for (const NodeReport& node : report.nodes) {
    if (!is_undelegated(node)) continue;
    const std::string rule = rules_text(node);
    rules[rule].cost.add(report, node);
    add_to(kinds[rule][std::string(node.op.str())], report, node);
  }
  for (auto& [rule, refused] : rules) {
    refused.rule = rule;
    refused.kinds = costliest_first(kinds[rule]);
  }
  return costliest_first(rules);
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
    add_to(open.kinds[std::string(node.op.str())], report, node);
  }
  std::map<std::string, LeftByCause> sorted;
  for (auto& [key, open] : causes) {
    for (std::size_t i = 0; i < open.seen.size(); ++i)
      open.reasons.reasons[i].second.seen = first_texts(open.seen[i]);
    open.cause.reason = reasons_text(open.reasons);
    open.cause.kinds = costliest_first(open.kinds);
    sorted.emplace(key, std::move(open.cause));
  }
  return costliest_first(sorted);
}

std::vector<SourceLocation> refusal_sources(const Report& report) {
  if (report.refusals.empty()) return {};
  const auto place = [](const auto& each) {
    return std::tuple(each.method.id(), each.graph.id(), each.node.id());
  };
  std::map<decltype(place(report.nodes[0])), const NodeReport*> nodes;
  for (const NodeReport& node : report.nodes) nodes.emplace(place(node), &node);
  std::vector<SourceLocation> sources;
  for (const RefusalReport& refusal : report.refusals) {
    const auto node = refusal.node.empty() ? nodes.end() : nodes.find(place(refusal));
    sources.push_back(node == nodes.end() ? SourceLocation() : node->second->source);
  }
  return sources;
}

}  // namespace depute
