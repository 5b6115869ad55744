#include "regions/one_pass.h"

#include <algorithm>
#include <utility>

#include "regions/claim_atoms.h"
#include "regions/judge_islands.h"
#include "regions/shape_regions.h"
#include "support/check.h"

namespace depute {
namespace {

struct Drawn {
  AtomRegions regions;
  std::vector<std::uint32_t> owner;  // per region
};

// The pass: opens and closes regions while it runs over the atoms.
class RegionDrawer {
 public:
  // `join_claimed`: an atom that another owner takes may join where it is neutral.
  RegionDrawer(const Claims& claims, bool join_claimed)
      : claims_(claims), graph_(claims.atoms), join_claimed_(join_claimed), ready_(claims.joins.size()) {}

  Drawn run() {
    find_runs_below();
    waiting_.resize(graph_.size());
    drawn_.regions.region.assign(graph_.size(), no_region);
    drawn_.regions.order.assign(graph_.size(), 0);
    is_done_.assign(graph_.size(), 0);
    for (std::uint32_t atom = 0; atom < graph_.size(); ++atom) {
      waiting_[atom] = static_cast<std::uint32_t>(graph_.preds[atom].size());
      if (waiting_[atom] == 0) add_ready(atom);
    }
    for (;;) {
      drain();
      const std::uint32_t owner = next_owner();
      if (owner == no_owner) break;
      draw_region(owner);
    }
    return std::move(drawn_);
  }

 private:
  // Atoms that an owner could take next.
  struct Ready {
    std::vector<std::uint32_t> own;      // some may have joined another owner's region since
    std::vector<std::uint32_t> joining;  // likewise
    std::uint32_t count = 0;             // own ones that have not
    std::uint32_t runs_below = 0;        // the most of any own one
  };

  // Per atom: the regions on the longest alternation of owners that starts with it. Unclaimed atoms count as
  // none; neutral ones do not part the atoms around them.
  void find_runs_below() {
    runs_below_.assign(graph_.size(), 0);
    std::vector<std::uint32_t> head(graph_.size(), no_owner);  // owner of the first of these regions
    for (std::uint32_t atom = graph_.size(); atom-- > 0;) {
      const std::uint32_t own = claims_.owner[atom];
      std::uint32_t& runs = runs_below_[atom];
      head[atom] = own;
      if (own != no_owner) runs = 1;
      for (std::uint32_t succ : graph_.succs[atom]) {
        const bool parted = own != no_owner && head[succ] != own;
        const std::uint32_t through = runs_below_[succ] + (parted ? 1 : 0);
        if (through <= runs) continue;
        runs = through;
        if (own == no_owner && graph_.support[atom] == Support::Neutral) head[atom] = head[succ];
      }
    }
  }

  void add_ready(std::uint32_t atom) {
    const std::uint32_t own = claims_.owner[atom];
    if (own == no_owner) {
      draining_.push_back(atom);
      return;
    }
    ready_[own].own.push_back(atom);
    ++ready_[own].count;
    ready_[own].runs_below = std::max(ready_[own].runs_below, runs_below_[atom]);
    if (!join_claimed_) return;
    for (std::uint32_t owner = 0; owner < ready_.size(); ++owner) {
      if (claims_.joins[owner][atom] != 0 && owner != own) ready_[owner].joining.push_back(atom);
    }
  }

  // Runs what stays outside of regions, as long as some of it is ready.
  void drain() {
    for (std::size_t i = 0; i < draining_.size(); ++i) {
      const std::uint32_t atom = draining_[i];
      drawn_.regions.order[atom] = 2 * region_count();
      is_done_[atom] = 1;
      for (std::uint32_t succ : graph_.succs[atom]) {
        if (--waiting_[succ] == 0) add_ready(succ);
      }
    }
    draining_.clear();
  }

  std::uint32_t region_count() const { return static_cast<std::uint32_t>(drawn_.owner.size()); }

  // The owner whose ready atoms have the longest alternation before them; of equals the one with more, then
  // the first.
  std::uint32_t next_owner() const {
    const auto rank = [&](std::uint32_t owner) {
      return std::pair(ready_[owner].runs_below, ready_[owner].count);
    };
    std::uint32_t best = no_owner;
    for (std::uint32_t owner = 0; owner < ready_.size(); ++owner) {
      if (ready_[owner].count == 0) continue;
      if (best == no_owner || rank(owner) > rank(best)) best = owner;
    }
    return best;
  }

  bool may_join(std::uint32_t owner, std::uint32_t atom) const {
    if (claims_.owner[atom] == owner) return true;
    return claims_.joins[owner][atom] != 0 && (join_claimed_ || claims_.owner[atom] == no_owner);
  }

  // The atoms that open a region.
  std::vector<std::uint32_t> take_ready(std::uint32_t owner) {
    Ready& ready = ready_[owner];
    std::vector<std::uint32_t> atoms;
    for (std::uint32_t atom : ready.own) {
      if (is_done_[atom] == 0) atoms.push_back(atom);
    }
    for (std::uint32_t atom : ready.joining) {
      if (is_done_[atom] != 0) continue;
      atoms.push_back(atom);
      --ready_[claims_.owner[atom]].count;
    }
    ready = {};
    return atoms;
  }

  void draw_region(std::uint32_t owner) {
    std::vector<std::uint32_t> atoms = take_ready(owner);
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      const std::uint32_t atom = atoms[i];
      drawn_.regions.region[atom] = region_count();
      drawn_.regions.order[atom] = 2 * region_count() + 1;
      is_done_[atom] = 1;
      for (std::uint32_t succ : graph_.succs[atom]) {
        if (--waiting_[succ] > 0) continue;
        if (may_join(owner, succ)) {
          atoms.push_back(succ);
        } else {
          add_ready(succ);
        }
      }
    }
    drawn_.owner.push_back(owner);
  }

  const Claims& claims_;
  const AtomGraph& graph_;
  const bool join_claimed_;
  std::vector<std::uint32_t> runs_below_;
  std::vector<std::uint32_t> waiting_;  // per atom: inputs that have not run
  std::vector<std::uint8_t> is_done_;
  std::vector<Ready> ready_;  // per owner
  std::vector<std::uint32_t> draining_;
  Drawn drawn_;
};

class OnePassPlanner {
 public:
  OnePassPlanner(const RegionGraph& graph, std::span<const OwnerQuestion> owners)
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
  // Also takes neutral atoms off the edges of regions. Claimed ones stay where they joined.
  Drawn draw_with(bool join_claimed) const {
    const AtomGraph& atoms = claims_.atoms;
    Drawn drawn = RegionDrawer(claims_, join_claimed).run();
    check_order(atoms, drawn.regions);
    trim_neutral(atoms, drawn.regions.region);
    return drawn;
  }

  std::uint32_t region_owner(std::uint32_t atom) const { return drawn_.owner[drawn_.regions.region[atom]]; }

  // An island of atoms that all belong to other owners is nothing its owner wants.
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

  // Takes islands that are too small or not worth their cost out. The next round may give them to others.
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

  // Only nodes that the owner claimed are refused; others had joined.
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

  // What each owner says about unrelated pieces in one region.
  void split_regions() {
    const AtomGraph& atoms = claims_.atoms;
    std::vector<std::uint32_t>& region = drawn_.regions.region;
    const std::vector<std::uint32_t> island = islands_of(atoms, region);
    const std::vector<std::uint32_t> drawn_region = region;
    std::vector<std::uint32_t> name(atoms.size(), no_region);  // regions by their first atom
    std::vector<std::uint32_t> owner(atoms.size(), no_owner);
    for (std::uint32_t i = 0; i < owners_.size(); ++i) {
      const RegionOptions& options = owners_[i].options;
      std::vector<std::uint32_t> near;
      if (options.horizontal == Horizontal::Near)
        near = near_islands_of(graph_, atoms, drawn_region, options.near_distance);
      for (std::uint32_t atom = 0; atom < atoms.size(); ++atom) {
        if (drawn_region[atom] == no_region || drawn_.owner[drawn_region[atom]] != i) continue;
        std::uint32_t& first = name[drawn_region[atom]];
        if (first == no_region) first = atom;
        region[atom] = options.mode == RegionMode::Apart        ? atom
                       : options.mode == RegionMode::Connected  ? island[atom]
                       : options.horizontal == Horizontal::None ? island[atom]
                       : options.horizontal == Horizontal::Near ? near[atom]
                                                                : first;
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
    answer.placement.assign(graph_.size(), Placement::Unsupported);
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      const std::uint32_t region = plan_.region_of[node];
      if (region != no_region && plan_.owner_of[region] == owner) {
        answer.placement[node] = Placement::InRegion;
      } else if (!answer.refused_island_of.empty() && answer.refused_island_of[node] != no_region) {
        answer.placement[node] = placement_of(answer.refused_islands[answer.refused_island_of[node]]);
      } else if (owners_[owner].support[node] == Support::Neutral) {
        answer.placement[node] = Placement::Neutral;
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

OwnersPlan plan_in_one_pass(const RegionGraph& graph, std::span<const OwnerQuestion> owners) {
  return OnePassPlanner(graph, owners).run();
}

}  // namespace depute
