#include "regions/plan_owners.h"

#include <algorithm>
#include <utility>

#include "regions/claim_atoms.h"
#include "regions/draw_regions.h"
#include "regions/judge_islands.h"
#include "regions/owner_labels.h"
#include "regions/settle_regions.h"
#include "regions/shape_regions.h"

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

class OwnersPlanner {
 public:
  OwnersPlanner(const RegionGraph& graph, std::span<const OwnerQuestion> owners)
      : graph_(graph), owners_(owners), claimer_(graph, owners) {
    plan_.owners.resize(owners.size());
  }

  OwnersPlan run() {
    const std::size_t last_round = max_refusal_rounds * owners_.size();
    for (std::size_t round = 0;; ++round) {
      claims_ = claimer_.claim();
      drawn_ = draw_with(round < last_round);
      if (has_foreign_island()) drawn_ = draw_with(false);
      if (!refuse_islands() || round == last_round) break;
    }
    split_regions();
    emit();
    return std::move(plan_);
  }

 private:
  struct Drawn {
    AtomRegions regions;
    std::vector<std::uint32_t> owner;  // by region
  };

  // Draws regions and removes neutral atoms from their edges. Atoms of other owners stay where they joined.
  Drawn draw_with(bool join_claimed) const {
    DrawnRegions drawn = draw_regions(claims_, join_claimed);
    Drawn result{.regions = regions_from_labels(settled(std::move(drawn.label), drawn.owner)),
                 .owner = std::move(drawn.owner)};
    check_order(claims_.atoms, result.regions);
    trim_neutral(claims_.atoms, result.regions.region);
    return result;
  }

  // Returns labels with a smaller border. Atoms that joined another owner's region keep their label.
  std::vector<std::int32_t> settled(std::vector<std::int32_t> drawn,
                                    std::span<const std::uint32_t> owner_of_region) const {
    std::vector<std::uint8_t> stays(drawn.size(), 0);
    for (std::uint32_t atom = 0; atom < drawn.size(); ++atom) {
      const std::uint32_t owner = claims_.owner[atom];
      if (owner == no_owner) continue;
      stays[atom] = owner_of_region[static_cast<std::size_t>(drawn[atom]) / 2] != owner ? 1 : 0;
    }
    const OwnerLabels labels(claims_, owner_of_region);
    return settle_regions(claims_.atoms, labels.range(std::move(drawn), stays), labels);
  }

  std::uint32_t region_owner(std::uint32_t atom) const { return drawn_.owner[drawn_.regions.region[atom]]; }

  // True if all atoms of some island belong to other owners: the region's owner does not want such an island.
  bool has_foreign_island() const {
    const std::vector<std::uint32_t> island = islands_of(claims_.atoms, drawn_.regions.region);
    std::vector<std::uint8_t> has_own(island.size(), 0);
    for (std::uint32_t atom = 0; atom < island.size(); ++atom) {
      if (island[atom] != no_region && claims_.owner[atom] == region_owner(atom)) has_own[island[atom]] = 1;
    }
    return std::ranges::any_of(
        island, [&](std::uint32_t first) { return first != no_region && has_own[first] == 0; });
  }

  bool judges(std::uint32_t owner) const {
    return owners_[owner].options.min_nodes > 1 || owners_[owner].options.worth;
  }

  // Removes islands that are too small or not worth their cost. The next round may give them to other owners.
  bool refuse_islands() {
    bool any = false;
    for (std::uint32_t owner = 0; owner < owners_.size(); ++owner) any |= judges(owner);
    if (!any) return false;
    any = false;
    const Islands islands = find_islands(claims_.atoms, drawn_.regions.region);
    std::vector<std::uint8_t> refused(claims_.atoms.size(), 0);
    std::vector<std::vector<std::uint32_t>> refused_nodes(owners_.size());
    for (std::uint32_t atom = 0; atom < claims_.atoms.size(); ++atom) {
      if (islands.of[atom] != atom || !judges(region_owner(atom))) continue;
      const std::uint32_t owner = region_owner(atom);
      const auto refusal =
          judge_island(owners_[owner].options, islands.supported_nodes[atom], islands.nodes[atom]);
      if (!refusal) continue;
      any = true;
      refused[atom] = 1;
      record_refusal(owner, islands.nodes[atom], *refusal, refused_nodes[owner]);
    }
    for (std::uint32_t owner = 0; owner < owners_.size(); ++owner)
      claimer_.refuse(owner, refused_nodes[owner], claims_);
    for (std::uint32_t atom = 0; atom < claims_.atoms.size(); ++atom) {
      if (islands.of[atom] != no_region && refused[islands.of[atom]] != 0)
        drawn_.regions.region[atom] = no_region;
    }
    return any;
  }

  // Refuses only nodes that the owner claimed; the others had joined.
  void record_refusal(std::uint32_t owner, std::span<const std::uint32_t> nodes, const RefusedIsland& refusal,
                      std::vector<std::uint32_t>& refused_nodes) {
    OwnerAnswer& answer = plan_.owners[owner];
    answer.refused_island_of.resize(graph_.size(), no_region);
    for (std::uint32_t node : nodes) {
      if (claims_.owner[claims_.atoms.atom_of[node]] != owner) continue;
      answer.refused_island_of[node] = static_cast<std::uint32_t>(answer.refused_islands.size());
      refused_nodes.push_back(node);
    }
    answer.refused_islands.push_back(refusal);
  }

  // Splits regions into the pieces that each owner's options require.
  void split_regions() {
    const AtomGraph& atoms = claims_.atoms;
    std::vector<std::uint32_t>& region = drawn_.regions.region;
    const std::vector<std::uint32_t> island = islands_of(atoms, region);
    const std::vector<std::uint32_t> drawn_region = region;
    std::vector<std::uint32_t> name(atoms.size(), no_region);  // regions by their first atom
    std::vector<std::uint32_t> owner(atoms.size(), no_owner);
    for (std::uint32_t i = 0; i < owners_.size(); ++i) {
      const RegionOptions& options = owners_[i].options;
      for (std::uint32_t atom = 0; atom < atoms.size(); ++atom) {
        if (drawn_region[atom] == no_region || drawn_.owner[drawn_region[atom]] != i) continue;
        std::uint32_t& first = name[drawn_region[atom]];
        if (first == no_region) first = atom;
        region[atom] = options.mode == RegionMode::Apart ? atom
                       : options.merge_unconnected       ? first
                                                         : island[atom];
        owner[region[atom]] = i;
      }
    }
    drawn_.owner = std::move(owner);
  }

  void emit() {
    const AtomGraph& atoms = claims_.atoms;
    const auto owner_of = [&](std::uint32_t atom) { return drawn_.owner[drawn_.regions.region[atom]]; };
    const Csr rows = collect_regions(drawn_.regions);
    std::vector<std::uint32_t> limits;
    for (std::size_t row = 0; row < rows.size(); ++row)
      limits.push_back(std::max(owners_[owner_of(rows[row].front())].options.max_nodes, 1U));
    const Csr pieces = cut_regions(atoms, rows, limits);
    plan_.region_of.assign(graph_.size(), no_region);
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t piece = 0; piece < pieces.size(); ++piece) {
      nodes.clear();
      for (std::uint32_t atom : pieces[piece])
        nodes.insert(nodes.end(), atoms.nodes[atom].begin(), atoms.nodes[atom].end());
      std::ranges::sort(nodes);
      for (std::uint32_t node : nodes) plan_.region_of[node] = piece;
      plan_.regions.add_row(nodes);
      plan_.owner_of.push_back(owner_of(pieces[piece].front()));
    }
    for (std::uint32_t owner = 0; owner < owners_.size(); ++owner) explain(owner);
  }

  void explain(std::uint32_t owner) {
    OwnerAnswer& answer = plan_.owners[owner];
    answer.dissolved = std::move(claims_.dissolved[owner]);
    answer.placement.assign(graph_.size(), NodeOutcome::Unsupported);
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      const std::uint32_t region = plan_.region_of[node];
      if (region != no_region && plan_.owner_of[region] == owner) {
        answer.placement[node] = NodeOutcome::InRegion;
      } else if (!answer.refused_island_of.empty() && answer.refused_island_of[node] != no_region) {
        answer.placement[node] = placement_of(answer.refused_islands[answer.refused_island_of[node]]);
      } else if (owners_[owner].support[node] == Support::Neutral) {
        answer.placement[node] = NodeOutcome::Neutral;
      }
    }
  }

  const RegionGraph& graph_;
  std::span<const OwnerQuestion> owners_;
  Claimer claimer_;
  Claims claims_;
  Drawn drawn_;
  OwnersPlan plan_;
};

}  // namespace

OwnersPlan plan_owners(const RegionGraph& graph, std::span<const OwnerQuestion> owners) {
  return owners.size() == 1 ? plan_for_one(graph, owners.front()) : OwnersPlanner(graph, owners).run();
}

}  // namespace depute
