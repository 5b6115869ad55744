#include "depute/backend/partitioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "partition/graph_answers.h"
#include "partition/node_paths.h"
#include "regions/grow_regions.h"
#include "regions/label_regions.h"

namespace depute {
namespace {

constexpr std::uint32_t none = 0xFFFFFFFF;

// The part of a partition result that belongs to one graph.
struct GraphResult {
  const Graph* graph;
  std::vector<std::pair<const Node*, Name>> tags;
  std::vector<const Node*> neutral;
};

std::vector<GraphResult> by_graph(const PartitionResult& result) {
  std::vector<GraphResult> graphs;
  std::unordered_map<const Graph*, std::size_t> place;
  for (const auto& [node, tag] : result.node_tags) {
    const auto [found, is_new] = place.try_emplace(&node->graph(), graphs.size());
    if (is_new) graphs.push_back({.graph = &node->graph(), .tags = {}, .neutral = {}});
    graphs[found->second].tags.emplace_back(node, tag);
  }
  for (const auto& [node, verdict] : result.verdicts) {
    const auto found = place.find(&node->graph());
    if (found == place.end() || verdict.delegated || verdict.rule != "no-compute") continue;
    graphs[found->second].neutral.push_back(node);
  }
  return graphs;
}

// The partitions of a numbered graph, in topological order.
struct Partitions {
  std::vector<Name> tags;
  std::vector<std::uint32_t> of;  // by node, or none
};

// Returns for each node the length of the longest path to it in edges. Each partition counts as one node.
std::vector<std::uint32_t> depths(const RegionGraph& graph,
                                  const std::vector<std::vector<std::uint32_t>>& partitions) {
  RegionGraph contracted = graph;
  std::ranges::fill(contracted.support, Support::Supported);
  for (const auto& nodes : partitions) contracted.add_group(nodes);
  const AtomGraph atoms = contract_groups(contracted, LooseNodes::LeaveOut).graph;
  std::vector<std::uint32_t> of_atom(atoms.size(), 0);
  for (std::uint32_t atom = 0; atom < atoms.size(); ++atom) {
    for (std::uint32_t pred : atoms.preds[atom]) of_atom[atom] = std::max(of_atom[atom], of_atom[pred] + 1);
  }
  std::vector<std::uint32_t> depth(graph.size());
  for (std::uint32_t node = 0; node < graph.size(); ++node) depth[node] = of_atom[atoms.atom_of[node]];
  return depth;
}

Partitions ordered_partitions(const NumberedGraph& numbered, const GraphResult& result) {
  const RegionGraph& graph = numbered.regions;
  std::vector<Name> tags;
  std::vector<std::vector<std::uint32_t>> nodes;
  std::unordered_map<Name, std::size_t> place;
  for (const auto& [node, tag] : result.tags) {
    const auto [found, is_new] = place.try_emplace(tag, tags.size());
    if (is_new) tags.push_back(tag);
    if (is_new) nodes.emplace_back();
    nodes[found->second].push_back(numbered.order[*node]);
  }
  const std::vector<std::uint32_t> depth = depths(graph, nodes);
  std::vector<std::size_t> order(tags.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return depth[nodes[i].front()]; });
  Partitions partitions{.tags = {}, .of = std::vector<std::uint32_t>(graph.size(), none)};
  for (std::size_t i : order) {
    for (std::uint32_t node : nodes[i])
      partitions.of[node] = static_cast<std::uint32_t>(partitions.tags.size());
    partitions.tags.push_back(tags[i]);
  }
  return partitions;
}

// Finds for each outside node its source: the last partition with a path to the node that passes no other
// partition. It also stores the previous node of that path. A partition depends directly on the one before it
// if that is its last source.
class Sources {
 public:
  Sources(const AtomGraph& graph, const std::vector<std::uint32_t>& partition)
      : graph_(graph), partition_(partition), plain_(graph.size()), passed_(graph.size()) {
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      if (partition[node] == none) find(node);
    }
  }

  // Returns a shortest path from the partition `from` to one of these nodes that passes an unsupported node.
  // Empty if there is none.
  std::vector<std::uint32_t> path(std::uint32_t from, std::span<const std::uint32_t> nodes) const {
    std::vector<std::uint32_t> path;
    std::uint32_t shortest = none;
    for (std::uint32_t node : nodes) {
      for (std::uint32_t pred : graph_.preds[node]) {
        const Source& source = passed_[pred];
        if (partition_[pred] != none || source.partition != from || source.length >= shortest) continue;
        shortest = source.length;
        path = {node, pred};
      }
    }
    for (bool has_passed = true; !path.empty() && partition_[path.back()] == none;) {
      const Source& source = (has_passed ? passed_ : plain_)[path.back()];
      has_passed = source.before_has_passed;
      path.push_back(source.before);
    }
    std::ranges::reverse(path);
    return path;
  }

 private:
  struct Source {
    std::uint32_t partition = none;
    std::uint32_t length = 0;
    std::uint32_t before = none;
    bool before_has_passed = false;
  };

  // Prefers later partitions, then shorter paths.
  static void improve(Source& source, const Source& other) {
    if (other.partition == none) return;
    const bool is_better = source.partition == none || source.partition < other.partition ||
                           (source.partition == other.partition && source.length > other.length);
    if (is_better) source = other;
  }

  // Every path through an unsupported node counts as passing one.
  void find(std::uint32_t node) {
    Source& plain = graph_.support[node] == Support::Unsupported ? passed_[node] : plain_[node];
    for (std::uint32_t pred : graph_.preds[node]) {
      if (partition_[pred] != none) {
        improve(plain, {partition_[pred], 1, pred, false});
        continue;
      }
      improve(plain, {plain_[pred].partition, plain_[pred].length + 1, pred, false});
      improve(passed_[node], {passed_[pred].partition, passed_[pred].length + 1, pred, true});
    }
  }

  const AtomGraph& graph_;
  const std::vector<std::uint32_t>& partition_;  // by node, or none
  std::vector<Source> plain_;                    // sources over neutral nodes only
  std::vector<Source> passed_;                   // sources over at least one unsupported node
};

std::vector<const Node*> nodes_at(const std::vector<const Node*>& nodes,
                                  std::span<const std::uint32_t> path) {
  std::vector<const Node*> result;
  for (std::uint32_t node : path) result.push_back(nodes[node]);
  return result;
}

// Returns the nodes' names, without the middle of a long path.
std::vector<Name> path_names(const std::vector<const Node*>& path) {
  constexpr std::size_t half = max_split_path / 2;
  std::vector<Name> names;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i >= half && i + half < path.size()) continue;
    names.push_back(path[i]->display_symbol());
  }
  return names;
}

// True if each node reads a value of the node before it. Otherwise only the order of effects links them.
bool are_linked(const std::vector<const Node*>& path) {
  for (std::size_t i = 1; i < path.size(); ++i) {
    bool reads = false;
    for (std::size_t operand = 0; operand < path[i]->operand_count(); ++operand)
      reads = reads || path[i]->operand(operand)->producer() == path[i - 1];
    if (!reads) return false;
  }
  return true;
}

// The partitions of one backend in one graph.
class OneBackend {
 public:
  // `of`: per node, or none. `partitions`: those of all backends in the graph.
  OneBackend(const NumberedGraph& numbered, const GraphResult& result, std::vector<Name> tags,
             std::vector<std::uint32_t> of, const std::unordered_map<Name, PartitionPlan>& plans,
             std::size_t partitions)
      : nodes_(numbered.nodes),
        tags_(std::move(tags)),
        of_(std::move(of)),
        plans_(plans),
        has_other_backends_(partitions > tags_.size()),
        members_(tags_.size()) {
    RegionGraph regions = numbered.regions;
    for (const Node* node : result.neutral) regions.support[numbered.order[*node]] = Support::Neutral;
    for (std::uint32_t node = 0; node < of_.size(); ++node) {
      if (of_[node] == none) continue;
      regions.support[node] = Support::Supported;
      members_[of_[node]].push_back(node);
    }
    graph_ = contract_groups(regions, LooseNodes::LeaveOut).graph;
    range_ = label_regions(graph_);
  }

  void add_to(Splits& all) const {
    const Sources sources(graph_, of_);
    auto added = static_cast<std::size_t>(std::ranges::count_if(
        all.pairs, [](const Split& split) { return split.reason != SplitReason::Repeat; }));
    for (std::uint32_t second = 1; second < tags_.size(); ++second) {
      const bool is_repeat = is_isolated(second - 1) || is_isolated(second);
      if (added == max_splits && !is_repeat) {
        ++all.omitted;
        continue;
      }
      Split split = circle(sources, second);
      if (split.path.empty())
        split = is_repeat ? because(SplitReason::Repeat,
                                    "repeated steps with the same constants are separate delegates, of "
                                    "which one copy is loaded")
                          : one_more(second);
      if (split.reason != SplitReason::Repeat && added == max_splits) {
        ++all.omitted;
        continue;
      }
      added += split.reason == SplitReason::Repeat ? 0 : 1;
      split.first = tags_[second - 1];
      split.second = tags_[second];
      all.pairs.push_back(std::move(split));
    }
  }

 private:
  Split circle(const Sources& sources, std::uint32_t second) const {
    Split split;
    const auto path = nodes_at(nodes_, sources.path(second - 1, members_[second]));
    if (path.empty()) return split;
    split.reason = SplitReason::Circle;
    split.text =
        path_text(path) + (are_linked(path) ? ": one partition with both would depend on its own result"
                                            : ": one partition with both would reverse the order of effects");
    split.path = path_names(path);
    return split;
  }

  Split one_more(std::uint32_t second) const {
    std::uint32_t late = members_[second].front();
    std::uint32_t early = late;
    for (std::uint32_t partition : {second - 1, second}) {
      for (std::uint32_t node : members_[partition]) {
        if (range_.earliest[node] > range_.earliest[late]) late = node;
        if (range_.latest[node] < range_.latest[early]) early = node;
      }
    }
    if (range_.earliest[late] <= range_.latest[early]) return choice(second);
    const auto before = nodes_at(nodes_, path_before(graph_, range_, late));
    const auto after = nodes_at(nodes_, path_after(graph_, range_, early));
    Split split;
    split.reason = SplitReason::OneMore;
    split.text = fmt::format(
        "one partition for both would force one more than {}: up to %{} there are {} ({}), from %{} on there "
        "are {} ({})",
        range_.region_count(), nodes_[late]->display_name(), range_.earliest[late] / 2 + 1, path_text(before),
        nodes_[early]->display_name(), (range_.last - range_.latest[early]) / 2 + 1, path_text(after));
    split.path = path_names(before);
    split.path_after = path_names(after);
    return split;
  }

  Split choice(std::uint32_t second) const {
    const PartitionPlan* first_plan = plan_of(second - 1);
    const PartitionPlan* plan = plan_of(second);
    const Split chosen = because(SplitReason::Choice,
                                 "nothing prevents merging them: their partitioner chose to separate them");
    if (first_plan == nullptr || plan == nullptr) return chosen;
    if (plan->mode == RegionMode::Apart) return because(SplitReason::Mode, "the option mode=apart");
    if (const auto limit = limit_between(second, *first_plan, *plan)) return *limit;
    if (!plan->merge_unconnected)
      return because(SplitReason::Mode,
                     "the option merge_unconnected=false divides partitions into connected pieces");
    if (has_other_backends_)
      return because(
          SplitReason::Backends,
          "several backends are planned together, which does not always give the fewest partitions");
    return chosen;
  }

  // The two are too large for one, or all nodes are: then these two may be the ends of what was divided.
  std::optional<Split> limit_between(std::uint32_t second, const PartitionPlan& first_plan,
                                     const PartitionPlan& plan) const {
    const std::uint32_t most = std::min(first_plan.max_nodes, plan.max_nodes);
    const std::size_t count = members_[second - 1].size() + members_[second].size();
    const auto all = of_.size() - static_cast<std::size_t>(std::ranges::count(of_, none));
    const bool are_ends = plan.merge_unconnected && all > most;
    if (count <= most && !are_ends) return std::nullopt;
    if (plan.is_cut_by_values)
      return because(SplitReason::Limit, "merged, they would exceed the limit of arguments and results");
    if (count > most)
      return because(SplitReason::Limit,
                     fmt::format("merged, they would have {} nodes; the limit is {}", count, most));
    return because(SplitReason::Limit,
                   fmt::format("{} nodes were divided; the limit of a partition is {}", all, most));
  }

  static Split because(SplitReason reason, std::string text) {
    Split split;
    split.reason = reason;
    split.text = std::move(text);
    return split;
  }

  const PartitionPlan* plan_of(std::uint32_t partition) const {
    const auto found = plans_.find(tags_[partition]);
    return found == plans_.end() ? nullptr : &found->second;
  }

  bool is_isolated(std::uint32_t partition) const {
    const PartitionPlan* plan = plan_of(partition);
    return plan != nullptr && plan->is_isolated;
  }

  const std::vector<const Node*>& nodes_;
  const std::vector<Name> tags_;
  const std::vector<std::uint32_t> of_;
  const std::unordered_map<Name, PartitionPlan>& plans_;
  const bool has_other_backends_;
  std::vector<std::vector<std::uint32_t>> members_;  // per partition
  AtomGraph graph_;
  LabelRange range_;
};

void add_splits(const Effects& effects, const PartitionResult& result, const GraphResult& graph,
                Splits& all) {
  const NumberedGraph numbered = number_graph(*graph.graph, EffectOrder(effects, *graph.graph));
  const Partitions partitions = ordered_partitions(numbered, graph);
  std::vector<const DelegationSpec*> backends;
  for (Name tag : partitions.tags) {
    const DelegationSpec* spec = &result.partition_tags.at(tag);
    if (std::ranges::none_of(backends, [&](const DelegationSpec* other) { return *other == *spec; }))
      backends.push_back(spec);
  }
  for (const DelegationSpec* backend : backends) {
    std::vector<Name> tags;
    std::vector<std::uint32_t> number(partitions.tags.size(), none);
    for (std::size_t i = 0; i < partitions.tags.size(); ++i) {
      if (result.partition_tags.at(partitions.tags[i]) != *backend) continue;
      number[i] = static_cast<std::uint32_t>(tags.size());
      tags.push_back(partitions.tags[i]);
    }
    if (tags.size() < 2) continue;
    std::vector<std::uint32_t> of = partitions.of;
    for (std::uint32_t& partition : of) partition = partition == none ? none : number[partition];
    OneBackend(numbered, graph, std::move(tags), std::move(of), result.plans, partitions.tags.size())
        .add_to(all);
  }
}

}  // namespace

Splits find_splits(const Program& program, const Method& method, const PartitionResult& result) {
  Splits all;
  if (result.partition_tags.size() < 2) return all;
  const Effects effects(program);
  for (const GraphResult& graph : by_graph(result)) {
    const std::size_t first = all.pairs.size();
    add_splits(effects, result, graph, all);
    for (Split& split : std::span(all.pairs).subspan(first)) {
      split.method = method.name;
      if (graph.graph != method.graph.get()) split.graph = graph.graph->name();
    }
  }
  return all;
}

}  // namespace depute
