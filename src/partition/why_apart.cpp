#include "depute/why_apart.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "partition/graph_answers.h"
#include "partition/node_paths.h"
#include "regions/grow_regions.h"
#include "regions/label_regions.h"

namespace depute {
namespace {

using Reason = WhyApart::Reason;

std::string name_of(const Node& node) {
  return fmt::format("%{}", node.display_name());
}

// What a result says about two nodes.
class ResultReader {
 public:
  explicit ResultReader(const PartitionResult& result) : result_(result) {}

  Symbol tag_of(const Node& node) const {
    auto found = std::ranges::find(result_.node_tags, &node, [](const auto& entry) { return entry.first; });
    return found == result_.node_tags.end() ? Symbol() : found->second;
  }
  Verdict verdict_of(const Node& node) const {
    auto found = std::ranges::find(result_.verdicts, &node, [](const auto& entry) { return entry.first; });
    return found == result_.verdicts.end() ? Verdict() : found->second;
  }

  // Which nodes of a numbered graph an owner takes, or would where it is useful.
  std::vector<Support> support(const Graph& graph, const NodeOrder& order, std::string_view owner) const {
    std::vector<Support> support(graph.node_count(), Support::Unsupported);
    for (const auto& [node, verdict] : result_.verdicts) {
      if (&node->graph() != &graph) continue;
      if (verdict.delegated && verdict.owner == owner) support[order[*node]] = Support::Supported;
      if (!verdict.delegated && verdict.rule == "no-compute") support[order[*node]] = Support::Neutral;
    }
    return support;
  }

 private:
  const PartitionResult& result_;
};

// The shortest path between two atoms that passes an unsupported one; empty if there is none.
std::vector<std::uint32_t> path_through_unsupported(const AtomGraph& graph, std::uint32_t from,
                                                    std::uint32_t to) {
  constexpr std::uint32_t unseen = 0xFFFFFFFF;
  // Atoms twice: as reached before an unsupported one was passed, and after.
  const std::uint32_t count = graph.size();
  std::vector<std::uint32_t> parent(2 * count, unseen);
  std::vector<std::uint32_t> queue{from};
  parent[from] = from;
  for (std::size_t i = 0; i < queue.size() && parent[count + to] == unseen; ++i) {
    const bool has_passed = queue[i] >= count;
    for (std::uint32_t next : graph.succs[queue[i] % count]) {
      const bool passes = has_passed || graph.support[next] == Support::Unsupported;
      const std::uint32_t place = next + (passes ? count : 0);
      if (parent[place] != unseen) continue;
      parent[place] = queue[i];
      queue.push_back(place);
    }
  }
  std::vector<std::uint32_t> path;
  if (parent[count + to] == unseen) return path;
  for (std::uint32_t place = count + to; place != from; place = parent[place]) path.push_back(place % count);
  path.push_back(from);
  std::ranges::reverse(path);
  return path;
}

std::vector<const Node*> nodes_at(const std::vector<const Node*>& nodes,
                                  std::span<const std::uint32_t> path) {
  std::vector<const Node*> result;
  for (std::uint32_t atom : path) result.push_back(nodes[atom]);
  return result;
}

WhyApart forced_apart(const std::vector<const Node*>& nodes, const AtomGraph& graph, const LabelRange& range,
                      std::uint32_t early, std::uint32_t late) {
  WhyApart why{.reason = Reason::OneMore, .path = {}, .path_after = {}, .text = {}};
  why.path = nodes_at(nodes, path_before(graph, range, late));
  why.path_after = nodes_at(nodes, path_after(graph, range, early));
  const std::int32_t before = range.earliest[late] / 2 + 1;
  const std::int32_t after = (range.last - range.latest[early]) / 2 + 1;
  why.text = fmt::format(
      "one region for both would force one region more than {}: up to {} there are {} ({}), from {} on there "
      "are {} ({})",
      range.region_count(), name_of(*nodes[late]), before, path_text(why.path), name_of(*nodes[early]), after,
      path_text(why.path_after));
  return why;
}

WhyApart why_apart_in_graph(const ResultReader& reader, const Graph& graph, std::string_view owner,
                            const Node& one, const Node& other) {
  auto [nodes, order, regions] = number_graph(graph, false);
  const auto [a, b] = std::minmax({order[one], order[other]});
  regions.support = reader.support(graph, order, owner);
  const AtomGraph atoms = contract_groups(regions, LooseNodes::LeaveOut).graph;

  const auto path = path_through_unsupported(atoms, a, b);
  if (!path.empty()) {
    WhyApart why{.reason = Reason::Circle, .path = nodes_at(nodes, path), .path_after = {}, .text = {}};
    why.text = path_text(why.path) + ": one region with both would need its own result";
    return why;
  }
  const LabelRange range = label_regions(atoms);
  if (range.earliest[b] > range.latest[a]) return forced_apart(nodes, atoms, range, a, b);
  if (range.earliest[a] > range.latest[b]) return forced_apart(nodes, atoms, range, b, a);
  return {
      .reason = Reason::Choice,
      .path = {},
      .path_after = {},
      .text = "nothing forces them apart: smaller borders, limits on regions, other backends or groups did"};
}

}  // namespace

WhyApart why_apart(const PartitionResult& result, const Node& a, const Node& b) {
  const ResultReader reader(result);
  const auto answer = [](Reason reason, std::string text) {
    return WhyApart{.reason = reason, .path = {}, .path_after = {}, .text = std::move(text)};
  };
  if (&a.graph() != &b.graph()) {
    return answer(Reason::OtherGraph,
                  fmt::format("{} is in graph {}, {} in graph {}", name_of(a), a.graph().name().str(),
                              name_of(b), b.graph().name().str()));
  }
  const Verdict verdict_of_a = reader.verdict_of(a);
  for (const Node* node : {&a, &b}) {
    const Verdict verdict = reader.verdict_of(*node);
    if (verdict.delegated) continue;
    return answer(Reason::NotDelegated, fmt::format("{} is not delegated: {}", name_of(*node), verdict.rule));
  }
  const Verdict verdict_of_b = reader.verdict_of(b);
  if (verdict_of_a.owner != verdict_of_b.owner) {
    return answer(Reason::OtherOwner, fmt::format("{} takes {}, {} takes {}", verdict_of_a.owner, name_of(a),
                                                  verdict_of_b.owner, name_of(b)));
  }
  if (reader.tag_of(a) == reader.tag_of(b)) return answer(Reason::Together, "they are in one partition");
  return why_apart_in_graph(reader, a.graph(), verdict_of_a.owner, a, b);
}

}  // namespace depute
