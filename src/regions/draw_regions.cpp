#include "regions/draw_regions.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace depute {
namespace {

// maximum number of ready atoms, and of edges, looked at to compare two owners
constexpr std::size_t max_look = 512;

// Returns for each atom the number of regions on the longest alternation of owners that starts with the atom.
// Unclaimed atoms are not counted; neutral atoms do not separate the atoms around them.
std::vector<std::uint32_t> runs_below(const Claims& claims) {
  const AtomGraph& graph = claims.atoms;
  std::vector<std::uint32_t> below(graph.size(), 0);
  std::vector<std::uint32_t> head(graph.size(), no_owner);  // owner of the first of these regions
  for (std::uint32_t atom = graph.size(); atom-- > 0;) {
    const std::uint32_t own = claims.owner[atom];
    head[atom] = own;
    if (own != no_owner) below[atom] = 1;
    for (std::uint32_t succ : graph.succs[atom]) {
      const bool parted = own != no_owner && head[succ] != own;
      const std::uint32_t through = below[succ] + (parted ? 1 : 0);
      if (through <= below[atom]) continue;
      below[atom] = through;
      if (own == no_owner && graph.support[atom] == Support::Neutral) head[atom] = head[succ];
    }
  }
  return below;
}

class RegionDrawer {
 public:
  RegionDrawer(const Claims& claims, bool join_claimed)
      : claims_(claims),
        graph_(claims.atoms),
        join_claimed_(join_claimed),
        runs_below_(runs_below(claims)),
        waiting_(graph_.size()),
        is_done_(graph_.size(), 0),
        ready_(claims.joins.size()) {}

  DrawnRegions run() {
    drawn_.label.assign(graph_.size(), 0);
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
    std::vector<std::uint32_t> joining;  // some may have joined another owner's region since
    std::uint32_t count = 0;             // number of atoms in `own` that have not joined
    std::uint32_t runs_below = 0;        // maximum over all atoms in `own`
  };

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

  // Runs ready atoms that belong to no region, until none is ready.
  void drain() {
    for (std::size_t i = 0; i < draining_.size(); ++i) {
      const std::uint32_t atom = draining_[i];
      drawn_.label[atom] = 2 * region_count() - 1;
      is_done_[atom] = 1;
      for (std::uint32_t succ : graph_.succs[atom]) {
        if (--waiting_[succ] == 0) add_ready(succ);
      }
    }
    draining_.clear();
  }

  std::int32_t region_count() const { return static_cast<std::int32_t>(drawn_.owner.size()); }

  // Returns the owner whose ready atoms have the longest alternation before them. Ties go to the owner that
  // gains the shortest alternation by waiting, then to the one with more atoms, then to the first.
  std::uint32_t next_owner() {
    std::uint32_t longest = 0;
    for (const Ready& ready : ready_) {
      if (ready.count > 0) longest = std::max(longest, ready.runs_below);
    }
    std::vector<std::uint32_t> equal;
    for (std::uint32_t owner = 0; owner < ready_.size(); ++owner) {
      if (ready_[owner].count > 0 && ready_[owner].runs_below == longest) equal.push_back(owner);
    }
    if (equal.empty()) return no_owner;
    const auto rank = [&](std::uint32_t owner) {
      std::uint32_t gain = 0;
      for (std::uint32_t other : equal) {
        if (other != owner) gain = std::max(gain, gain_by_waiting(owner, other));
      }
      return std::pair(gain, ~ready_[owner].count);
    };
    return equal.size() == 1 ? equal.front() : *std::ranges::min_element(equal, {}, rank);
  }

  bool may_join(std::uint32_t owner, std::uint32_t atom) const {
    if (claims_.owner[atom] == owner) return true;
    return claims_.joins[owner][atom] != 0 && (join_claimed_ || claims_.owner[atom] == no_owner);
  }

  // Returns the longest alternation that starts with an atom that `owner` can only take after `other`. 0 if
  // there is none, or if the search is too long.
  std::uint32_t gain_by_waiting(std::uint32_t owner, std::uint32_t other) {
    Look at_once;
    bool in_time = look_ahead(at_once, {owner});
    undo(at_once);
    Look later;
    in_time = in_time && look_ahead(later, {other, no_owner, owner});
    undo(later);
    if (!in_time) return 0;
    for (std::uint32_t atom : at_once.taken) is_done_[atom] = 1;
    std::uint32_t gain = 0;
    for (std::uint32_t atom : later.taken) {
      if (is_done_[atom] == 0 && claims_.owner[atom] == owner) gain = std::max(gain, runs_below_[atom]);
    }
    for (std::uint32_t atom : at_once.taken) is_done_[atom] = 0;
    return gain;
  }

  struct Look {
    std::vector<std::uint32_t> ready;   // some have been passed
    std::vector<std::uint32_t> passed;  // to be undone
    std::vector<std::uint32_t> taken;   // taken by the last owner
    std::size_t edges = 0;
  };

  // Passes the atoms that these owners can take in turn; no_owner stands for atoms outside regions. Returns
  // false if there are too many.
  bool look_ahead(Look& look, std::initializer_list<std::uint32_t> owners) {
    for (std::uint32_t owner : owners) {
      if (owner == no_owner) continue;
      for (const auto* atoms : {&ready_[owner].own, &ready_[owner].joining}) {
        if (look.ready.size() + atoms->size() > max_look) return false;
        look.ready.insert(look.ready.end(), atoms->begin(), atoms->end());
      }
    }
    return std::ranges::all_of(owners, [&](std::uint32_t owner) { return pass(look, owner); });
  }

  bool pass(Look& look, std::uint32_t owner) {
    std::vector<std::uint32_t> left;
    look.taken.clear();
    for (std::size_t i = 0; i < look.ready.size(); ++i) {
      const std::uint32_t atom = look.ready[i];
      if (is_done_[atom] != 0) continue;
      look.edges += graph_.succs[atom].size();
      if (look.ready.size() > max_look || look.edges > max_look) return false;
      if (owner == no_owner ? claims_.owner[atom] != no_owner : !may_join(owner, atom)) {
        left.push_back(atom);
        continue;
      }
      is_done_[atom] = 1;
      look.taken.push_back(atom);
      look.passed.push_back(atom);
      for (std::uint32_t succ : graph_.succs[atom]) {
        if (--waiting_[succ] == 0) look.ready.push_back(succ);
      }
    }
    look.ready = std::move(left);
    return true;
  }

  void undo(const Look& look) {
    for (std::uint32_t atom : look.passed) {
      is_done_[atom] = 0;
      for (std::uint32_t succ : graph_.succs[atom]) ++waiting_[succ];
    }
  }

  // Returns the atoms that open a region.
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
      drawn_.label[atom] = 2 * region_count();
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
  const std::vector<std::uint32_t> runs_below_;
  std::vector<std::uint32_t> waiting_;  // by atom: inputs that have not run
  std::vector<std::uint8_t> is_done_;
  std::vector<Ready> ready_;  // by owner
  std::vector<std::uint32_t> draining_;
  DrawnRegions drawn_;
};

}  // namespace

DrawnRegions draw_regions(const Claims& claims, bool join_claimed) {
  return RegionDrawer(claims, join_claimed).run();
}

}  // namespace depute
