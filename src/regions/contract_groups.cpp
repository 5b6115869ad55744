#include <algorithm>
#include <numeric>
#include <utility>

#include "regions/atom_graph.h"
#include "regions/components.h"
#include "regions/disjoint_sets.h"

namespace depute {
namespace {

constexpr std::uint32_t no_unit = 0xFFFFFFFF;
constexpr int max_retries = 2;             // retries for dissolved groups beside the kept ones
constexpr std::size_t max_half_path = 32;  // atoms kept at each end of a reported path

enum class GroupState : std::uint8_t {
  Candidate,
  Kept,
  Dissolved,   // part of a cycle with other groups: may come back
  Impossible,  // part of a cycle on its own, beside the kept groups
};

// Inverts `owner`: row i lists the items with owner i, ascending.
Csr rows_by_owner(std::span<const std::uint32_t> owner, std::uint32_t owners) {
  Csr rows;
  rows.start.assign(owners + 1, 0);
  for (std::uint32_t o : owner) ++rows.start[o + 1];
  std::partial_sum(rows.start.begin(), rows.start.end(), rows.start.begin());
  rows.items.resize(owner.size());
  std::vector<std::uint32_t> next(rows.start.begin(), rows.start.end() - 1);
  for (std::uint32_t item = 0; item < owner.size(); ++item) rows.items[next[owner[item]]++] = item;
  return rows;
}

// Returns predecessors between owners, without duplicates and without edges inside an owner.
Csr preds_between(const Csr& preds, const Csr& nodes, std::span<const std::uint32_t> owner) {
  Csr result;
  result.start.reserve(nodes.start.size());
  result.items.reserve(preds.items.size());
  std::vector<std::uint32_t> last_reader(nodes.size(), no_unit);
  for (std::uint32_t reader = 0; reader < nodes.size(); ++reader) {
    for (std::uint32_t node : nodes[reader]) {
      for (std::uint32_t pred : preds[node]) {
        const std::uint32_t source = owner[pred];
        if (source == reader || last_reader[source] == reader) continue;
        last_reader[source] = reader;
        result.items.push_back(source);
      }
    }
    result.start.push_back(static_cast<std::uint32_t>(result.items.size()));
  }
  return result;
}

// Nodes and groups as contracted in one round. Units may form cycles; their components do not.
struct Units {
  std::vector<std::uint32_t> unit_of;  // per node
  std::vector<Support> support;        // per unit
  Csr nodes;
  Csr preds;
  Components components;
};

class GroupContraction {
 public:
  GroupContraction(const RegionGraph& graph, LooseNodes loose_nodes, GroupCircles circles)
      : graph_(graph),
        loose_nodes_(loose_nodes),
        circles_(circles),
        state_(graph.groups.size(), GroupState::Candidate),
        reason_(graph.groups.size()) {}

  Atoms run() {
    Units units = contract_candidates();
    for (int retry = 0; retry < max_retries && std::ranges::count(state_, GroupState::Dissolved) > 0;
         ++retry) {
      std::ranges::replace(state_, GroupState::Dissolved, GroupState::Candidate);
      units = contract_candidates();
    }
    Atoms atoms;
    atoms.graph = build(units);
    for (std::uint32_t group = 0; group < state_.size(); ++group) {
      if (!is_active(group)) atoms.dissolved.push_back(std::move(reason_[group]));
    }
    return atoms;
  }

 private:
  bool is_active(std::uint32_t group) const {
    return state_[group] == GroupState::Candidate || state_[group] == GroupState::Kept;
  }

  // Dissolves candidates until no cycle contains an enclosed unit. The remaining candidates become kept.
  Units contract_candidates() {
    for (;;) {
      Units units = contract();
      const std::vector<std::uint32_t> enclosed = enclosed_units(units);
      if (std::ranges::all_of(enclosed, [](std::uint32_t unit) { return unit == no_unit; })) {
        std::ranges::replace(state_, GroupState::Candidate, GroupState::Kept);
        return units;
      }
      dissolve_later_half(units, enclosed);
    }
  }

  Units contract() const {
    DisjointSets sets(graph_.size());
    std::vector<Support> support = graph_.support;
    for (std::uint32_t group = 0; group < state_.size() && loose_nodes_ == LooseNodes::LeaveOut; ++group) {
      if (is_active(group)) continue;
      for (std::uint32_t node : graph_.groups[group]) support[node] = Support::Unsupported;
    }
    for (std::uint32_t group = 0; group < state_.size(); ++group) {
      if (!is_active(group)) continue;
      for (std::uint32_t node : graph_.groups[group]) {
        sets.join(graph_.groups[group].front(), node);
        support[node] = Support::Supported;
      }
    }
    Units units;
    units.unit_of.resize(graph_.size());
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      const std::uint32_t first = sets.find(node);
      if (first == node) {
        units.unit_of[node] = static_cast<std::uint32_t>(units.support.size());
        units.support.push_back(support[node]);
      } else {
        units.unit_of[node] = units.unit_of[first];
      }
    }
    units.nodes = rows_by_owner(units.unit_of, static_cast<std::uint32_t>(units.support.size()));
    units.preds = preds_between(graph_.preds, units.nodes, units.unit_of);
    units.components = strongly_connected(units.preds);
    return units;
  }

  // Returns for each component of several units the unit that must not be on a cycle, or no_unit.
  std::vector<std::uint32_t> enclosed_units(const Units& units) const {
    const Components& components = units.components;
    std::vector<std::uint32_t> size(components.count, 0);
    for (std::uint32_t component : components.of) ++size[component];
    std::vector<std::uint32_t> enclosed(components.count, no_unit);
    for (std::uint32_t unit = 0; unit < units.support.size(); ++unit) {
      std::uint32_t& first = enclosed[components.of[unit]];
      if (size[components.of[unit]] == 1 || units.support[unit] != Support::Unsupported) continue;
      first = std::min(first, unit);
    }
    if (circles_ == GroupCircles::Dissolve) enclose_circles_of_groups(units, size, enclosed);
    return enclosed;
  }

  // A cycle of placeable units also conflicts with its groups. Encloses the first of several candidates, or
  // else a unit that is not a candidate.
  void enclose_circles_of_groups(const Units& units, std::span<const std::uint32_t> size,
                                 std::vector<std::uint32_t>& enclosed) const {
    const Components& components = units.components;
    std::vector<std::uint32_t> first(components.count, no_unit);
    std::vector<std::uint32_t> candidates(components.count, 0);
    for (std::uint32_t group = 0; group < state_.size(); ++group) {
      if (state_[group] != GroupState::Candidate || graph_.groups[group].empty()) continue;
      const std::uint32_t unit = units.unit_of[graph_.groups[group].front()];
      const std::uint32_t component = components.of[unit];
      if (candidates[component]++ == 0) first[component] = unit;
    }
    for (std::uint32_t unit = 0; unit < units.support.size(); ++unit) {
      const std::uint32_t component = components.of[unit];
      if (size[component] == 1 || enclosed[component] != no_unit) continue;
      if (candidates[component] > 1) enclosed[component] = first[component];
      if (candidates[component] == 1 && unit != first[component]) enclosed[component] = unit;
    }
  }

  // In each component with an enclosed unit, dissolves the later declared half of the candidates, rounded up.
  void dissolve_later_half(const Units& units, std::span<const std::uint32_t> enclosed) {
    std::vector<std::uint32_t> candidates(units.components.count, 0);
    for_each_cyclic_candidate(units, enclosed,
                              [&](std::uint32_t, std::uint32_t component) { ++candidates[component]; });
    std::vector<std::uint32_t> seen(units.components.count, 0);
    const Paths paths = paths_through(units, enclosed);
    for_each_cyclic_candidate(units, enclosed, [&](std::uint32_t group, std::uint32_t component) {
      if (seen[component]++ < candidates[component] / 2) return;
      state_[group] = candidates[component] == 1 ? GroupState::Impossible : GroupState::Dissolved;
      reason_[group] = reason(units, paths, group, enclosed[component]);
    });
  }

  template <typename Visit>
  void for_each_cyclic_candidate(const Units& units, std::span<const std::uint32_t> enclosed,
                                 Visit visit) const {
    for (std::uint32_t group = 0; group < state_.size(); ++group) {
      if (state_[group] != GroupState::Candidate || graph_.groups[group].empty()) continue;
      const std::uint32_t component = units.components.of[units.unit_of[graph_.groups[group].front()]];
      if (enclosed[component] != no_unit) visit(group, component);
    }
  }

  // For each unit of a cyclic component: the neighbor on a shortest path to and from its enclosed unit.
  struct Paths {
    std::vector<std::uint32_t> towards;
    std::vector<std::uint32_t> back;
  };

  static Paths paths_through(const Units& units, std::span<const std::uint32_t> enclosed) {
    const Csr succs = transposed(units.preds);
    return {breadth_first(units.preds, units.components, enclosed),
            breadth_first(succs, units.components, enclosed)};
  }

  static std::vector<std::uint32_t> breadth_first(const Csr& edges, const Components& components,
                                                  std::span<const std::uint32_t> roots) {
    std::vector<std::uint32_t> parent(edges.size(), no_unit);
    std::vector<std::uint32_t> queue;
    for (std::uint32_t root : roots) {
      if (root == no_unit) continue;
      parent[root] = root;
      queue.push_back(root);
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const std::uint32_t unit = queue[i];
      for (std::uint32_t next : edges[unit]) {
        if (parent[next] != no_unit || components.of[next] != components.of[unit]) continue;
        parent[next] = unit;
        queue.push_back(next);
      }
    }
    return parent;
  }

  DissolvedGroup reason(const Units& units, const Paths& paths, std::uint32_t group,
                        std::uint32_t enclosed) const {
    const std::uint32_t unit = units.unit_of[graph_.groups[group].front()];
    const auto along = [&](const std::vector<std::uint32_t>& parent) {
      std::vector<std::uint32_t> path{unit};
      while (path.back() != enclosed && path.size() < max_half_path) path.push_back(parent[path.back()]);
      return path;
    };
    const std::vector<std::uint32_t> out = along(paths.towards);
    std::vector<std::uint32_t> back = along(paths.back);
    std::ranges::reverse(back);

    DissolvedGroup result{group, units.nodes[enclosed].front(),
                          nodes_along(graph_, units.nodes, units.unit_of, out)};
    const std::vector<std::uint32_t> rest = nodes_along(graph_, units.nodes, units.unit_of, back);
    const bool meets = result.path.back() == rest.front();
    result.path.insert(result.path.end(), rest.begin() + (meets ? 1 : 0), rest.end());
    return result;
  }

  // The components of the last round become atoms, so a placeable cycle becomes one atom.
  AtomGraph build(const Units& units) const {
    AtomGraph atoms;
    atoms.atom_of.resize(graph_.size());
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      atoms.atom_of[node] = units.components.of[units.unit_of[node]];
    }
    atoms.support.assign(units.components.count, Support::Neutral);
    for (std::uint32_t unit = 0; unit < units.support.size(); ++unit) {
      if (units.support[unit] != Support::Neutral)
        atoms.support[units.components.of[unit]] = units.support[unit];
    }
    atoms.nodes = rows_by_owner(atoms.atom_of, units.components.count);
    atoms.preds = preds_between(graph_.preds, atoms.nodes, atoms.atom_of);
    weigh(atoms);
    return atoms;
  }

  // An atom's weight is the size of its values that are used outside the atom.
  void weigh(AtomGraph& atoms) const {
    std::vector<std::uint8_t> visible(graph_.size(), 0);
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      for (std::uint32_t pred : graph_.preds[node])
        visible[pred] |= atoms.atom_of[pred] != atoms.atom_of[node];
    }
    for (std::uint32_t node : graph_.outputs) visible[node] = 1;
    atoms.weight.assign(atoms.size(), 0);
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      if (visible[node]) atoms.weight[atoms.atom_of[node]] += graph_.bytes.empty() ? 1 : graph_.bytes[node];
    }
  }

  const RegionGraph& graph_;
  const LooseNodes loose_nodes_;
  const GroupCircles circles_;
  std::vector<GroupState> state_;
  std::vector<DissolvedGroup> reason_;
};

// Without groups, every node is an atom.
AtomGraph single_atoms(const RegionGraph& graph) {
  AtomGraph atoms;
  atoms.support = graph.support;
  atoms.preds = graph.preds;
  atoms.weight = graph.bytes;
  atoms.atom_of.resize(graph.size());
  std::iota(atoms.atom_of.begin(), atoms.atom_of.end(), 0U);
  atoms.nodes.items = atoms.atom_of;
  atoms.nodes.start.resize(graph.size() + 1);
  std::iota(atoms.nodes.start.begin(), atoms.nodes.start.end(), 0U);
  return atoms;
}

}  // namespace

Atoms contract_groups(const RegionGraph& graph, LooseNodes loose_nodes, GroupCircles circles) {
  Atoms atoms;
  if (graph.groups.size() == 0) {
    atoms.graph = single_atoms(graph);
  } else {
    atoms = GroupContraction(graph, loose_nodes, circles).run();
  }
  atoms.graph.succs = transposed(atoms.graph.preds);
  atoms.graph.returned.assign(atoms.graph.size(), 0);
  for (std::uint32_t node : graph.outputs) atoms.graph.returned[atoms.graph.atom_of[node]] = 1;
  return atoms;
}

std::vector<std::uint32_t> nodes_along(const RegionGraph& graph, const Csr& nodes,
                                       std::span<const std::uint32_t> atom_of,
                                       std::span<const std::uint32_t> path) {
  std::vector<std::uint32_t> result;
  if (path.size() == 1) result.push_back(nodes[path.front()].front());
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const auto edge = [&]() -> std::pair<std::uint32_t, std::uint32_t> {
      for (std::uint32_t node : nodes[path[i + 1]]) {
        for (std::uint32_t pred : graph.preds[node]) {
          if (atom_of[pred] == path[i]) return {pred, node};
        }
      }
      return {nodes[path[i]].front(), nodes[path[i + 1]].front()};
    }();
    if (result.empty() || result.back() != edge.first) result.push_back(edge.first);
    result.push_back(edge.second);
  }
  return result;
}

}  // namespace depute
