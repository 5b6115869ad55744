#include "regions/plan_owners.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "regions/one_pass.h"
#include "support/check.h"

namespace depute {
namespace {

OwnersPlan plan_for_one(const RegionGraph& graph, const OwnerQuestion& owner) {
  RegionGraph own = graph;
  own.support = owner.support;
  own.groups = owner.groups;
  RegionPlan plan = grow_regions(own, owner.options);
  OwnersPlan result;
  result.owner_of.assign(plan.regions.size(), 0);
  result.regions = std::move(plan.regions);
  result.region_of = std::move(plan.region_of);
  result.owners.push_back({.placement = std::move(plan.placement),
                           .refused_islands = std::move(plan.refused_islands),
                           .refused_island_of = std::move(plan.refused_island_of),
                           .dissolved = std::move(plan.dissolved)});
  return result;
}

// Owners one after another. Regions that are there already are single, unsupported units for the next owner.
class InOrder {
 public:
  InOrder(const RegionGraph& graph, std::span<const OwnerQuestion> owners) : graph_(graph), owners_(owners) {
    plan_.region_of.assign(graph.size(), no_region);
  }

  OwnersPlan run() {
    for (const OwnerQuestion& owner : owners_) add_owner(owner);
    sort_regions();
    return std::move(plan_);
  }

 private:
  // All regions so far contracted.
  AtomGraph contract_regions() const {
    RegionGraph placeable = graph_;
    std::ranges::fill(placeable.support, Support::Supported);
    placeable.groups = plan_.regions;
    Atoms atoms = contract_groups(placeable, LooseNodes::LeaveOut);
    CHECK(atoms.dissolved.empty());
    return std::move(atoms.graph);
  }

  void add_owner(const OwnerQuestion& owner) {
    const AtomGraph units = contract_regions();
    OwnerAnswer answer;
    RegionGraph graph = unit_graph(units, owner);
    add_groups(units, owner, graph, answer);
    RegionOptions options = owner.options;
    if (options.worth) {
      options.worth = [&](std::span<const std::uint32_t> members) {
        std::vector<std::uint32_t> nodes;
        for (std::uint32_t unit : members) nodes.push_back(units.nodes[unit].front());
        return owner.options.worth(nodes);
      };
    }
    RegionPlan plan = grow_regions(graph, options);
    add_regions(units, plan.regions);
    for (DissolvedGroup& group : plan.dissolved) {
      group.path = nodes_along(graph_, units.nodes, units.atom_of, group.path);
      group.enclosed = units.nodes[group.enclosed].front();
      answer.dissolved.push_back(std::move(group));
    }
    answer.refused_islands = std::move(plan.refused_islands);
    if (!plan.refused_island_of.empty()) answer.refused_island_of.resize(graph_.size());
    answer.placement.resize(graph_.size());
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      const std::uint32_t unit = units.atom_of[node];
      answer.placement[node] = plan.placement[unit];
      if (!plan.refused_island_of.empty()) answer.refused_island_of[node] = plan.refused_island_of[unit];
    }
    plan_.owners.push_back(std::move(answer));
  }

  bool is_taken(std::uint32_t node) const { return plan_.region_of[node] != no_region; }

  RegionGraph unit_graph(const AtomGraph& units, const OwnerQuestion& owner) const {
    RegionGraph graph;
    graph.preds = units.preds;
    graph.bytes = units.weight;
    graph.support.reserve(units.size());
    for (std::uint32_t unit = 0; unit < units.size(); ++unit) {
      const std::uint32_t node = units.nodes[unit].front();
      graph.support.push_back(is_taken(node) ? Support::Unsupported : owner.support[node]);
      if (graph_.graph_inputs.size() > 0) graph.graph_inputs.add_row(graph_.graph_inputs[node]);
      if (units.returned[unit] != 0) graph.outputs.push_back(unit);
    }
    return graph;
  }

  // A group of which an earlier owner has a node is no group any more.
  void add_groups(const AtomGraph& units, const OwnerQuestion& owner, RegionGraph& graph,
                  OwnerAnswer& answer) const {
    std::vector<std::uint32_t> members;
    for (std::uint32_t group = 0; group < owner.groups.size(); ++group) {
      members.clear();
      const auto nodes = owner.groups[group];
      const auto taken = std::ranges::find_if(nodes, [&](std::uint32_t node) { return is_taken(node); });
      if (taken == nodes.end()) {
        for (std::uint32_t node : nodes) members.push_back(units.atom_of[node]);
      } else {
        answer.dissolved.push_back({.group = group, .enclosed = *taken, .path = {}});
        if (owner.options.loose_nodes == LooseNodes::LeaveOut) {
          for (std::uint32_t node : nodes) graph.support[units.atom_of[node]] = Support::Unsupported;
        }
      }
      graph.add_group(members);
    }
  }

  void add_regions(const AtomGraph& units, const Csr& regions) {
    std::vector<std::uint32_t> nodes;
    for (std::size_t region = 0; region < regions.size(); ++region) {
      nodes.clear();
      for (std::uint32_t unit : regions[region]) nodes.push_back(units.nodes[unit].front());
      std::ranges::sort(nodes);
      for (std::uint32_t node : nodes)
        plan_.region_of[node] = static_cast<std::uint32_t>(plan_.regions.size());
      plan_.regions.add_row(nodes);
      plan_.owner_of.push_back(static_cast<std::uint32_t>(plan_.owners.size()));
    }
  }

  // In the order in which they can run.
  void sort_regions() {
    const AtomGraph units = contract_regions();
    std::vector<std::uint32_t> order(plan_.regions.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {},
                      [&](std::uint32_t region) { return units.atom_of[plan_.regions[region].front()]; });
    OwnersPlan sorted;
    for (std::uint32_t region : order) {
      for (std::uint32_t node : plan_.regions[region])
        plan_.region_of[node] = static_cast<std::uint32_t>(sorted.regions.size());
      sorted.regions.add_row(plan_.regions[region]);
      sorted.owner_of.push_back(plan_.owner_of[region]);
    }
    plan_.regions = std::move(sorted.regions);
    plan_.owner_of = std::move(sorted.owner_of);
  }

  const RegionGraph& graph_;
  std::span<const OwnerQuestion> owners_;
  OwnersPlan plan_;
};

// Nodes that some owner takes, alone or in a group, and that are in no region.
std::size_t nodes_left_out(const OwnersPlan& plan, std::span<const OwnerQuestion> owners) {
  std::vector<std::uint8_t> is_wanted(plan.region_of.size(), 0);
  for (const OwnerQuestion& owner : owners) {
    for (std::size_t node = 0; node < is_wanted.size(); ++node)
      is_wanted[node] |= owner.support[node] == Support::Supported;
    for (std::uint32_t node : owner.groups.items) is_wanted[node] = 1;
  }
  std::size_t count = 0;
  for (std::size_t node = 0; node < is_wanted.size(); ++node)
    count += is_wanted[node] != 0 && plan.region_of[node] == no_region;
  return count;
}

// Better plans compare less: fewer nodes left out, fewer regions, a smaller border.
std::tuple<std::size_t, std::size_t, std::uint64_t> rank_of(const RegionGraph& graph, const OwnersPlan& plan,
                                                            std::span<const OwnerQuestion> owners) {
  RegionPlan regions;
  regions.regions = plan.regions;
  regions.region_of = plan.region_of;
  return {nodes_left_out(plan, owners), plan.regions.size(), border_of(graph, regions)};
}

}  // namespace

OwnersPlan plan_owners(const RegionGraph& graph, std::span<const OwnerQuestion> owners, Sharing sharing) {
  if (owners.size() == 1) return plan_for_one(graph, owners.front());
  if (sharing == Sharing::OnePass) return plan_in_one_pass(graph, owners);
  OwnersPlan in_order = InOrder(graph, owners).run();
  if (sharing == Sharing::InOrder) return in_order;
  OwnersPlan one_pass = plan_in_one_pass(graph, owners);
  return rank_of(graph, one_pass, owners) < rank_of(graph, in_order, owners) ? one_pass : in_order;
}

}  // namespace depute
