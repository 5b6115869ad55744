#include "regions/claim_atoms.h"

#include <algorithm>
#include <utility>

namespace depute {

Claimer::Claimer(const RegionGraph& graph, std::span<const OwnerQuestion> owners)
    : graph_(graph), owners_(owners) {
  for (const OwnerQuestion& owner : owners) {
    support_.push_back(owner.support);
    group_is_off_.emplace_back(owner.groups.size(), 0);
  }
}

void Claimer::refuse(std::uint32_t owner, std::span<const std::uint32_t> nodes, const Claims& claims) {
  for (std::uint32_t node : nodes) support_[owner][node] = Support::Unsupported;
  std::vector<std::uint8_t> refused(graph_.size(), 0);
  for (std::uint32_t node : nodes) refused[node] = 1;
  const Csr& groups = owners_[owner].groups;
  for (std::uint32_t group = 0; group < groups.size(); ++group) {
    if (claims.group_is_off[owner][group] != 0) continue;
    if (std::ranges::any_of(groups[group], [&](std::uint32_t node) { return refused[node] != 0; }))
      group_is_off_[owner][group] = 1;
  }
}

// Groups that cannot stay whole are left out in a second go, so that others can have their nodes.
Claims Claimer::claim() const {
  Claims claims;
  claims.dissolved.resize(owners_.size());
  claims.group_is_off = group_is_off_;
  for (;;) {
    std::vector<std::uint32_t> owner = owners_alone();
    const std::vector<GroupId> groups = viable_groups(owner, claims);
    Atoms atoms = contract(owner, groups);
    if (atoms.dissolved.empty()) {
      for (const auto& [of, group] : groups) {
        for (std::uint32_t node : owners_[of].groups[group]) owner[node] = of;
      }
      claims.atoms = std::move(atoms.graph);
      name_owners(owner, claims);
      return claims;
    }
    for (DissolvedGroup& group : atoms.dissolved) {
      const GroupId id = groups[group.group];
      claims.group_is_off[id.owner][id.group] = 1;
      group.group = id.group;
      claims.dissolved[id.owner].push_back(std::move(group));
    }
  }
}

// Per node: the first owner that takes it by itself.
std::vector<std::uint32_t> Claimer::owners_alone() const {
  std::vector<std::uint32_t> owner(graph_.size(), no_owner);
  for (std::uint32_t i = 0; i < owners_.size(); ++i) {
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      if (owner[node] == no_owner && support_[i][node] == Support::Supported) owner[node] = i;
    }
  }
  return owner;
}

// Groups of which no node belongs to an earlier owner or its groups; others are off from then on. Nodes of
// groups that are off go to the next owner unless they may be placed alone.
std::vector<Claimer::GroupId> Claimer::viable_groups(std::vector<std::uint32_t>& owner,
                                                     Claims& claims) const {
  std::vector<GroupId> groups;
  std::vector<std::uint32_t> grouped_by(graph_.size(), no_owner);
  auto& group_is_off = claims.group_is_off;
  for (std::uint32_t i = 0; i < owners_.size(); ++i) {
    for (std::uint32_t group = 0; group < owners_[i].groups.size(); ++group) {
      const auto nodes = owners_[i].groups[group];
      const auto belongs_to_other = [&](std::uint32_t node) {
        return (owner[node] != no_owner && owner[node] < i) ||
               (grouped_by[node] != no_owner && grouped_by[node] < i);
      };
      const auto other = std::ranges::find_if(nodes, belongs_to_other);
      if (other != nodes.end() && group_is_off[i][group] == 0) {
        group_is_off[i][group] = 1;
        claims.dissolved[i].push_back({group, *other, {}});
      }
      if (group_is_off[i][group] == 0) {
        groups.push_back({i, group});
        for (std::uint32_t node : nodes) grouped_by[node] = i;
      } else if (owners_[i].options.loose_nodes == LooseNodes::LeaveOut) {
        for (std::uint32_t node : nodes) {
          if (owner[node] == i) owner[node] = next_owner(node, i);
        }
      }
    }
  }
  return groups;
}

Atoms Claimer::contract(const std::vector<std::uint32_t>& owner, const std::vector<GroupId>& groups) const {
  RegionGraph graph = graph_;
  graph.groups = {};
  for (const auto& [of, group] : groups) graph.add_group(owners_[of].groups[group]);
  for (std::uint32_t node = 0; node < graph_.size(); ++node)
    graph.support[node] = owner[node] != no_owner ? Support::Supported : support_of_unclaimed(node);
  return contract_groups(graph, LooseNodes::PlaceAlone, GroupCircles::Dissolve);
}

std::uint32_t Claimer::next_owner(std::uint32_t node, std::uint32_t after) const {
  for (std::uint32_t i = after + 1; i < owners_.size(); ++i) {
    if (support_[i][node] == Support::Supported) return i;
  }
  return no_owner;
}

Support Claimer::support_of_unclaimed(std::uint32_t node) const {
  const bool neutral =
      std::ranges::any_of(support_, [&](const auto& support) { return support[node] == Support::Neutral; });
  return neutral ? Support::Neutral : Support::Unsupported;
}

void Claimer::name_owners(const std::vector<std::uint32_t>& owner_of_node, Claims& claims) const {
  const AtomGraph& atoms = claims.atoms;
  claims.owner.assign(atoms.size(), no_owner);
  claims.joins.assign(owners_.size(), std::vector<std::uint8_t>(atoms.size(), 0));
  for (std::uint32_t atom = 0; atom < atoms.size(); ++atom) {
    const std::uint32_t node = atoms.nodes[atom].front();
    if (atoms.support[atom] == Support::Supported) claims.owner[atom] = owner_of_node[node];
    if (atoms.nodes[atom].size() > 1) continue;
    for (std::uint32_t i = 0; i < owners_.size(); ++i)
      claims.joins[i][atom] = support_[i][node] == Support::Neutral ? 1 : 0;
  }
}

}  // namespace depute
