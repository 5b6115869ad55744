#include "tests/unit/regions/grow_regions_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace depute::testing {
namespace {

bool has_edge(const RegionGraph& graph, std::uint32_t from, std::uint32_t to) {
  return std::ranges::find(graph.preds[to], from) != graph.preds[to].end();
}

bool is_kept(const RegionPlan& plan, std::uint32_t group) {
  return std::ranges::none_of(plan.dissolved, [&](const DissolvedGroup& d) { return d.group == group; });
}

// What each node counts as: a node of a kept group is supported whatever it is alone.
std::vector<Support> effective_support(const RegionGraph& graph, const RegionPlan& plan) {
  std::vector<Support> support = graph.support;
  for (const DissolvedGroup& d : plan.dissolved) {
    for (std::uint32_t node : graph.groups[d.group]) support[node] = Support::Unsupported;
  }
  for (std::uint32_t group = 0; group < graph.groups.size(); ++group) {
    if (!is_kept(plan, group)) continue;
    for (std::uint32_t node : graph.groups[group]) support[node] = Support::Supported;
  }
  return support;
}

std::string broken_coverage(const RegionGraph& graph, const RegionPlan& plan,
                            const std::vector<Support>& support) {
  std::size_t placed = 0;
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    const std::string name = "node " + std::to_string(node);
    const bool inside = plan.region_of[node] != no_region;
    placed += inside;
    if (inside != (plan.placement[node] == NodeOutcome::InRegion)) return name + ": placement";
    if (support[node] == Support::Unsupported && inside) return name + " is unsupported and placed";
    const bool refused =
        plan.placement[node] == NodeOutcome::TooSmall || plan.placement[node] == NodeOutcome::NotWorth;
    if (support[node] == Support::Supported && !inside && !refused) return name + " is left out";
  }
  if (placed != plan.regions.items.size()) return "rows do not match region_of";
  for (std::uint32_t region = 0; region < plan.regions.size(); ++region) {
    bool supported = false;
    if (!std::ranges::is_sorted(plan.regions[region])) return "nodes out of order";
    for (std::uint32_t node : plan.regions[region]) {
      if (plan.region_of[node] != region) return "rows do not match region_of";
      supported |= support[node] == Support::Supported;
    }
    if (!supported) return "region " + std::to_string(region) + " has nothing supported";
  }
  return "";
}

std::string broken_witness(const RegionGraph& graph, const RegionPlan& plan,
                           const std::vector<Support>& support) {
  std::uint32_t runs = 0;
  bool in_run = false;
  for (std::size_t i = 0; i < plan.witness.size(); ++i) {
    const std::uint32_t node = plan.witness[i];
    if (i > 0 && graph.groups.size() == 0 && !has_edge(graph, plan.witness[i - 1], node))
      return "witness is not a path";
    const bool outside = plan.placement[node] == NodeOutcome::Unsupported ||
                         plan.placement[node] == NodeOutcome::TooSmall ||
                         plan.placement[node] == NodeOutcome::NotWorth;
    if (outside) in_run = false;
    if (!outside && support[node] == Support::Supported && !in_run) {
      in_run = true;
      ++runs;
    }
  }
  // A neutral node on the path may belong to a unit made of groups, and stand for a run there.
  const bool hidden_runs = graph.groups.size() > 0 && std::ranges::count(graph.support, Support::Neutral) > 0;
  if (runs != plan.fewest_possible && !hidden_runs) return "witness has " + std::to_string(runs) + " runs";
  if (plan.regions.size() < plan.fewest_possible) return "fewer regions than possible";
  return "";
}

// Calls visit(region_of) for every way to put the nodes `open` into at most `limit` regions; neutral ones may
// stay out.
template <typename Visit>
void for_each_partition(const RegionGraph& graph, const std::vector<std::uint32_t>& open, std::size_t next,
                        std::uint32_t used, std::uint32_t limit, std::vector<std::uint32_t>& region_of,
                        Visit& visit) {
  if (next == open.size()) {
    visit(region_of);
    return;
  }
  const std::uint32_t node = open[next];
  for (std::uint32_t region = 0; region < std::min(used + 1, limit); ++region) {
    region_of[node] = region;
    for_each_partition(graph, open, next + 1, std::max(used, region + 1), limit, region_of, visit);
  }
  region_of[node] = no_region;
  if (graph.support[node] == Support::Neutral) {
    for_each_partition(graph, open, next + 1, used, limit, region_of, visit);
  }
}

}  // namespace

// Kahn's algorithm on the graph where the nodes with one region number are one vertex.
bool is_acyclic(const RegionGraph& graph, const std::vector<std::uint32_t>& region_of) {
  const std::uint32_t count = graph.size();
  const auto vertex = [&](std::uint32_t node) {
    return region_of[node] == no_region ? node : count + region_of[node];
  };
  std::vector<std::vector<std::uint32_t>> succs(2 * count);
  std::vector<std::uint32_t> waiting(2 * count, 0);
  for (std::uint32_t node = 0; node < count; ++node) {
    for (std::uint32_t pred : graph.preds[node]) {
      if (vertex(pred) == vertex(node)) continue;
      succs[vertex(pred)].push_back(vertex(node));
      ++waiting[vertex(node)];
    }
  }
  std::vector<std::uint32_t> ready;
  for (std::uint32_t v = 0; v < 2 * count; ++v) {
    if (waiting[v] == 0) ready.push_back(v);
  }
  std::uint32_t done = 0;
  while (!ready.empty()) {
    const std::uint32_t v = ready.back();
    ready.pop_back();
    ++done;
    for (std::uint32_t succ : succs[v]) {
      if (--waiting[succ] == 0) ready.push_back(succ);
    }
  }
  return done == 2 * count;
}

RegionGraph random_graph(const RandomGraph& shape, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t limit) { return random() % limit; };
  const auto chance = [&](double share) { return static_cast<double>(random()) < share * 4294967296.0; };
  RegionGraph graph;
  for (std::uint32_t node = 0; node < shape.nodes; ++node) {
    std::vector<std::uint32_t> inputs;
    const std::uint32_t reach = std::min(node, shape.window);
    for (std::uint32_t i = 0; i < 4 && reach > 0; ++i) {
      if (chance(shape.inputs / 4)) inputs.push_back(node - 1 - below(reach));
    }
    const Support kind = chance(shape.unsupported) ? Support::Unsupported
                         : chance(shape.neutral)   ? Support::Neutral
                                                   : Support::Supported;
    graph.add_node(kind, inputs);
    if (below(10) == 0) graph.outputs.push_back(node);
  }
  std::vector<std::uint8_t> taken(shape.nodes, 0);
  for (std::uint32_t group = 0; group < shape.groups; ++group) {
    std::vector<std::uint32_t> members;
    const std::uint32_t start = below(shape.nodes);
    const std::uint32_t wanted = 2 + below(3);
    for (std::uint32_t node = start; node < shape.nodes && members.size() < wanted; node += 1 + below(3)) {
      if (!taken[node]) members.push_back(node);
    }
    for (std::uint32_t node : members) taken[node] = 1;
    graph.add_group(members);
  }
  return graph;
}

std::string broken_rule(const RegionGraph& graph, const RegionPlan& plan) {
  const std::vector<Support> support = effective_support(graph, plan);
  if (std::string rule = broken_coverage(graph, plan, support); !rule.empty()) return rule;
  if (!is_acyclic(graph, plan.region_of)) return "regions depend on each other in a circle";
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    for (std::uint32_t pred : graph.preds[node]) {
      if (plan.region_of[pred] != no_region && plan.region_of[pred] > plan.region_of[node])
        return "numbers fall";
    }
  }
  for (std::uint32_t group = 0; group < graph.groups.size(); ++group) {
    if (!is_kept(plan, group)) continue;
    for (std::uint32_t node : graph.groups[group]) {
      if (plan.region_of[node] != plan.region_of[graph.groups[group].front()]) return "a kept group is torn";
    }
  }
  return broken_witness(graph, plan, support);
}

std::uint64_t border_of(const RegionGraph& graph, const RegionPlan& plan) {
  std::vector<std::uint8_t> returned(graph.size(), 0);
  for (std::uint32_t node : graph.outputs) returned[node] = 1;
  std::vector<std::uint32_t> last_entered(plan.regions.size(), no_region);
  const Csr readers = transposed(graph.preds);
  std::uint64_t total = 0;
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    const std::uint32_t own = plan.region_of[node];
    bool leaves = own != no_region && returned[node] != 0;
    std::uint64_t crossings = 0;
    for (std::uint32_t reader : readers[node]) {
      const std::uint32_t region = plan.region_of[reader];
      if (region == own) continue;
      leaves |= own != no_region;
      if (region == no_region || last_entered[region] == node) continue;
      last_entered[region] = node;
      ++crossings;
    }
    total += (crossings + (leaves ? 1 : 0)) * (graph.bytes.empty() ? 1 : graph.bytes[node]);
  }
  return total;
}

std::uint32_t fewest_regions(const RegionGraph& graph) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    if (graph.support[node] != Support::Unsupported) open.push_back(node);
  }
  std::uint32_t supported = 0;
  for (Support kind : graph.support) supported += kind == Support::Supported;
  std::vector<std::uint32_t> region_of(graph.size(), no_region);
  std::uint32_t fewest = supported;
  for (std::uint32_t limit = 0; limit < supported; ++limit) {
    bool found = false;
    const auto visit = [&](const std::vector<std::uint32_t>& regions) {
      found = found || is_acyclic(graph, regions);
    };
    for_each_partition(graph, open, 0, 0, limit, region_of, visit);
    if (found) {
      fewest = limit;
      break;
    }
  }
  return fewest;
}

RegionGraph shuffled(const RegionGraph& graph, std::uint32_t seed) {
  std::mt19937 random(seed);
  const Csr succs = transposed(graph.preds);
  std::vector<std::uint32_t> waiting(graph.size());
  std::vector<std::uint32_t> ready;
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    waiting[node] = static_cast<std::uint32_t>(graph.preds[node].size());
    if (waiting[node] == 0) ready.push_back(node);
  }
  RegionGraph result;
  std::vector<std::uint32_t> new_number(graph.size());
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const std::uint32_t node = ready.back();
    ready.pop_back();
    std::vector<std::uint32_t> inputs;
    for (std::uint32_t pred : graph.preds[node]) inputs.push_back(new_number[pred]);
    new_number[node] = result.add_node(graph.support[node], inputs);
    for (std::uint32_t succ : succs[node]) {
      if (--waiting[succ] == 0) ready.push_back(succ);
    }
  }
  for (std::uint32_t node : graph.outputs) result.outputs.push_back(new_number[node]);
  return result;
}

RegionPlan grow_valid(const RegionGraph& graph, const RegionOptions& options) {
  RegionPlan plan = grow_regions(graph, options);
  EXPECT_EQ(broken_rule(graph, plan), "");
  return plan;
}

}  // namespace depute::testing
