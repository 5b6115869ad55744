// Atoms: the units that region growing places as a whole. An atom is a node, or a contracted group of nodes.
//
//   nodes    dequant -> conv -> quant -> tan          atoms    {dequant conv quant} -> tan
//   groups   {dequant conv quant}
//
// Contraction can close cycles. A cycle of placeable atoms becomes one larger atom. A cycle through an
// unsupported node cannot be placed. In that case groups are dissolved, later declared ones first, until no
// such cycle exists. Each dissolved group gets a path as its reason:
//
//   group {a b}, a -> tan -> b         a leaves the group, tan is unsupported, b returns: dissolved
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "regions/region_graph.h"

namespace depute {

struct AtomGraph {
  std::vector<Support> support;
  Csr preds;  // atoms are in topological order, like nodes
  Csr succs;
  Csr nodes;                           // the nodes of each atom, ascending
  std::vector<std::uint32_t> atom_of;  // by node
  std::vector<std::uint8_t> returned;  // 1: a value of the atom is an output of the graph
  // size of the values that other atoms read; if empty, each atom weighs 1
  std::vector<std::uint64_t> weight;

  std::uint32_t size() const { return static_cast<std::uint32_t>(support.size()); }
  std::uint64_t weight_of(std::uint32_t atom) const { return weight.empty() ? 1 : weight[atom]; }
};

// Explains why a group could not stay whole.
struct DissolvedGroup {
  std::uint32_t group;
  std::uint32_t enclosed;  // a node on the path that cannot be in the group: unsupported, or of another group
  // A path of nodes from the group through `enclosed` back to the group. Neighbors are linked by an edge or
  // are in one group. The middle of a long path is omitted.
  std::vector<std::uint32_t> path;

  friend bool operator==(const DissolvedGroup&, const DissolvedGroup&) = default;
};

struct Atoms {
  AtomGraph graph;
  std::vector<DissolvedGroup> dissolved;  // ordered by group
};

// How to treat nodes of a dissolved group that are in no other group.
enum class LooseNodes : std::uint8_t {
  LeaveOut,    // as unsupported: a group is placed whole or not at all
  PlaceAlone,  // with their own support
};

// How to treat groups that depend on each other in a cycle.
enum class GroupCircles : std::uint8_t {
  Merge,     // they become one atom, with the placeable nodes between them
  Dissolve,  // later declared ones are dissolved: each atom has at most one group, unless groups overlap
};

Atoms contract_groups(const RegionGraph& graph, LooseNodes loose_nodes,
                      GroupCircles circles = GroupCircles::Merge);

// Converts a path of atoms to a path of nodes: the nodes by which it enters and leaves each atom. Neighbors
// are linked by an edge or are in one atom. `nodes` and `atom_of` describe the atoms as in AtomGraph.
std::vector<std::uint32_t> nodes_along(const RegionGraph& graph, const Csr& nodes,
                                       std::span<const std::uint32_t> atom_of,
                                       std::span<const std::uint32_t> path);

}  // namespace depute
