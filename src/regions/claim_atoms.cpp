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

// Repeats until all remaining groups can stay whole: dissolving a group frees its nodes for other owners.
Claims Claimer::claim() const {
  Claims claims;
  claims.dissolved.resize(owners_.size());
  claims.group_is_off = group_is_off_;
  for (;;) {
    std::vector<std::uint32_t> owner = owners_alone();
    const std::vector<Block> blocks = viable_blocks(owner, claims);
    Atoms atoms = contract(owner, blocks);
    if (atoms.dissolved.empty()) {
      for (const Block& block : blocks) {
        for (std::uint32_t node : block.nodes) owner[node] = block.owner;
      }
      claims.atoms = std::move(atoms.graph);
      name_owners(owner, claims);
      return claims;
    }
    for (const DissolvedGroup& dissolved : atoms.dissolved) {
      const Block& block = blocks[dissolved.group];
      const std::size_t kept = block.groups.size() / 2;  // groups declared first are tried again
      for (std::size_t i = kept; i < block.groups.size(); ++i)
        dissolve(block.owner, {block.groups[i], dissolved.enclosed, dissolved.path}, claims);
    }
  }
}

void Claimer::dissolve(std::uint32_t owner, DissolvedGroup group, Claims& claims) {
  claims.group_is_off[owner][group.group] = 1;
  claims.dissolved[owner].push_back(std::move(group));
}

// Returns for each node the first owner that supports it by itself.
std::vector<std::uint32_t> Claimer::owners_alone() const {
  std::vector<std::uint32_t> owner(graph_.size(), no_owner);
  for (std::uint32_t i = 0; i < owners_.size(); ++i) {
    for (std::uint32_t node = 0; node < graph_.size(); ++node) {
      if (owner[node] == no_owner && support_[i][node] == Support::Supported) owner[node] = i;
    }
  }
  return owner;
}

// Returns the blocks of groups whose nodes no earlier owner has taken. Other groups are switched off, and
// their nodes go to the next owner.
std::vector<Claimer::Block> Claimer::viable_blocks(std::vector<std::uint32_t>& owner, Claims& claims) const {
  std::vector<Block> blocks;
  std::vector<std::uint32_t> blocked_by(graph_.size(), no_owner);
  for (std::uint32_t i = 0; i < owners_.size(); ++i) {
    const Csr& groups = owners_[i].groups;
    const auto belongs_to_other = [&](std::uint32_t node) { return owner[node] < i || blocked_by[node] < i; };
    for (std::uint32_t group = 0; group < groups.size(); ++group) {
      const auto other = std::ranges::find_if(groups[group], belongs_to_other);
      if (other != groups[group].end() && claims.group_is_off[i][group] == 0)
        dissolve(i, {group, *other, {}}, claims);
    }
    for (Block& block : blocks_of(i, belongs_to_other, claims)) {
      for (std::uint32_t node : block.nodes) blocked_by[node] = i;
      blocks.push_back(std::move(block));
    }
    for (std::uint32_t group = 0; group < groups.size(); ++group) {
      if (claims.group_is_off[i][group] == 0) continue;
      for (std::uint32_t node : groups[group]) {
        if (owner[node] == i) owner[node] = next_owner(node, i);
      }
    }
  }
  return blocks;
}

// Returns the groups of one owner that can stay whole side by side, ignoring later owners.
std::vector<Claimer::Block> Claimer::blocks_of(
    std::uint32_t owner, const std::function<bool(std::uint32_t node)>& belongs_to_other,
    Claims& claims) const {
  const OwnerQuestion& question = owners_[owner];
  std::vector<std::uint32_t> numbers;
  RegionGraph graph = graph_;
  graph.groups = {};
  for (std::uint32_t group = 0; group < question.groups.size(); ++group) {
    if (claims.group_is_off[owner][group] != 0 || question.groups[group].empty()) continue;
    graph.add_group(question.groups[group]);
    numbers.push_back(group);
  }
  if (numbers.empty()) return {};
  for (std::uint32_t node = 0; node < graph_.size(); ++node)
    graph.support[node] = belongs_to_other(node) ? Support::Unsupported : support_[owner][node];
  const bool one_each = question.options.mode == RegionMode::Apart;
  Atoms atoms =
      contract_groups(graph, LooseNodes::LeaveOut, one_each ? GroupCircles::Dissolve : GroupCircles::Merge);
  for (DissolvedGroup& group : atoms.dissolved) {
    group.group = numbers[group.group];
    dissolve(owner, std::move(group), claims);
  }
  std::vector<Block> blocks(atoms.graph.size());  // by atom
  for (std::uint32_t group : numbers) {
    if (claims.group_is_off[owner][group] != 0) continue;
    blocks[atoms.graph.atom_of[question.groups[group].front()]].groups.push_back(group);
  }
  for (std::uint32_t atom = 0; atom < blocks.size(); ++atom) {
    blocks[atom].owner = owner;
    blocks[atom].nodes.assign(atoms.graph.nodes[atom].begin(), atoms.graph.nodes[atom].end());
  }
  std::erase_if(blocks, [](const Block& block) { return block.groups.empty(); });
  return blocks;
}

Atoms Claimer::contract(const std::vector<std::uint32_t>& owner, const std::vector<Block>& blocks) const {
  RegionGraph graph = graph_;
  graph.groups = {};
  for (const Block& block : blocks) graph.add_group(block.nodes);
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
