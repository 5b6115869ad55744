#include "regions/grow_regions.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "regions/judge_islands.h"
#include "regions/label_regions.h"
#include "regions/settle_regions.h"
#include "regions/shape_regions.h"
#include "support/check.h"

namespace depute {
namespace {

AtomRegions every_atom(const AtomGraph& graph) {
  AtomRegions regions;
  regions.order.resize(graph.size());
  std::iota(regions.order.begin(), regions.order.end(), 0U);
  regions.region = regions.order;
  for (std::uint32_t atom = 0; atom < graph.size(); ++atom) {
    if (graph.support[atom] != Support::Supported) regions.region[atom] = no_region;
  }
  return regions;
}

AtomRegions grow(const AtomGraph& graph, const LabelRange& range, RegionMode mode) {
  switch (mode) {
    case RegionMode::Settled:
      return regions_from_labels(settle_regions(graph, range));
    case RegionMode::Fx:
      return regions_from_labels(range.latest);
    case RegionMode::Apart:
      return every_atom(graph);
  }
  std::unreachable();
}

void check_input(const RegionGraph& graph) {
  CHECK(graph.preds.size() == graph.size());
  CHECK(graph.bytes.empty() || graph.bytes.size() == graph.size());
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    for (std::uint32_t pred : graph.preds[node]) CHECK(pred < node) << pred << " -> " << node;
  }
  for (std::uint32_t node : graph.groups.items) CHECK(node < graph.size());
  for (std::uint32_t node : graph.outputs) CHECK(node < graph.size());
}

class RegionGrower {
 public:
  RegionGrower(const RegionGraph& graph, const RegionOptions& options)
      : graph_(graph),
        options_(options),
        atoms_(contract_groups(
            graph, LooseNodes::LeaveOut,
            options.mode == RegionMode::Apart ? GroupCircles::Dissolve : GroupCircles::Merge)),
        atom_graph_(atoms_.graph) {}

  RegionPlan run() {
    AtomRegions regions;
    LabelRange range;
    for (std::size_t round = 0;; ++round) {
      range = label_regions(atom_graph_);
      regions = grow(atom_graph_, range, options_.mode);
      check_order(atom_graph_, regions);
      trim_neutral(atom_graph_, regions.region);
      if (!refuse_islands(regions)) break;
      if (round == max_refusal_rounds) {
        range = label_regions(atom_graph_);  // for `fewest_possible`
        break;
      }
    }
    if (!options_.merge_unconnected) regions.region = islands_of(atom_graph_, regions.region);
    Csr rows = collect_regions(regions);
    if (options_.max_nodes < graph_.size()) {
      const std::vector<std::uint32_t> limits(rows.size(), std::max(options_.max_nodes, 1U));
      rows = cut_regions(atom_graph_, rows, limits);
    }
    plan_.fewest_possible = range.region_count();
    plan_.witness =
        nodes_along(graph_, atom_graph_.nodes, atom_graph_.atom_of, witness_path(atom_graph_, range));
    plan_.dissolved = std::move(atoms_.dissolved);
    emit(rows);
    return std::move(plan_);
  }

 private:
  // Removes islands that are too small or not worth their cost from their regions, and marks them
  // unsupported. The remaining regions keep their labels or ranks, so they stay valid without new labels.
  bool refuse_islands(AtomRegions& regions) {
    if (options_.min_nodes <= 1 && !options_.worth) return false;
    const Islands islands = find_islands(atom_graph_, regions.region);
    std::vector<std::uint32_t> refused(atom_graph_.size(), no_region);
    bool any = false;
    for (std::uint32_t atom = 0; atom < atom_graph_.size(); ++atom) {
      if (islands.of[atom] != atom) continue;
      const auto refusal = judge_island(options_, islands.supported_nodes[atom], islands.nodes[atom]);
      if (!refusal) continue;
      any = true;
      refused[atom] = static_cast<std::uint32_t>(plan_.refused_islands.size());
      plan_.refused_islands.push_back(*refusal);
    }
    if (!any) return false;
    plan_.refused_island_of.resize(graph_.size(), no_region);
    for (std::uint32_t atom = 0; atom < atom_graph_.size(); ++atom) {
      if (islands.of[atom] == no_region || refused[islands.of[atom]] == no_region) continue;
      regions.region[atom] = no_region;
      if (atom_graph_.support[atom] != Support::Supported) continue;
      atom_graph_.support[atom] = Support::Unsupported;
      for (std::uint32_t node : atom_graph_.nodes[atom])
        plan_.refused_island_of[node] = refused[islands.of[atom]];
    }
    return true;
  }

  void emit(const Csr& rows) {
    plan_.region_of.assign(graph_.size(), no_region);
    for (std::uint32_t region = 0; region < rows.size(); ++region) {
      for (std::uint32_t atom : rows[region]) {
        for (std::uint32_t node : atom_graph_.nodes[atom]) plan_.region_of[node] = region;
      }
    }
    plan_.placement.resize(graph_.size());
    plan_.regions.start.assign(rows.size() + 1, 0);
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      plan_.placement[node] = placement_of(node);
      if (plan_.region_of[node] != no_region) ++plan_.regions.start[plan_.region_of[node] + 1];
    }
    for (std::size_t region = 0; region < rows.size(); ++region) {
      plan_.regions.start[region + 1] += plan_.regions.start[region];
    }
    plan_.regions.items.resize(plan_.regions.start.back());
    std::vector<std::uint32_t> next(plan_.regions.start.begin(), plan_.regions.start.end() - 1);
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      if (plan_.region_of[node] != no_region) plan_.regions.items[next[plan_.region_of[node]]++] = node;
    }
  }

  NodeOutcome placement_of(std::uint32_t node) const {
    if (plan_.region_of[node] != no_region) return NodeOutcome::InRegion;
    if (!plan_.refused_island_of.empty() && plan_.refused_island_of[node] != no_region)
      return depute::placement_of(plan_.refused_islands[plan_.refused_island_of[node]]);
    return graph_.support[node] == Support::Neutral ? NodeOutcome::Neutral : NodeOutcome::Unsupported;
  }

  const RegionGraph& graph_;
  const RegionOptions& options_;
  Atoms atoms_;
  AtomGraph& atom_graph_;  // refusals remove support in it
  RegionPlan plan_;
};

}  // namespace

RegionPlan grow_regions(const RegionGraph& graph, const RegionOptions& options) {
  check_input(graph);
  return RegionGrower(graph, options).run();
}

}  // namespace depute
