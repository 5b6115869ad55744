// Atoms: the units that are placed as a whole. An atom is a node, or a group of nodes contracted to one.
//
//   nodes    dequant -> conv -> quant -> tan          atoms    {dequant conv quant} -> tan
//   groups   {dequant conv quant}
//
// Contraction can close cycles. A cycle of placeable atoms becomes one larger atom. A cycle through an
// unsupported node cannot be placed: then some groups are dissolved, later declared ones first, until no such
// cycle is left, and each dissolved group gets a path as the reason:
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
  Csr preds;  // atoms are in topological order, as nodes are
  Csr succs;
  Csr nodes;                           // the nodes of each atom, ascending
  std::vector<std::uint32_t> atom_of;  // per node
  std::vector<std::uint8_t> returned;  // 1: a value of the atom is an output of the graph
  std::vector<std::uint64_t> weight;   // size of the values that other atoms read; empty: one each

  std::uint32_t size() const { return static_cast<std::uint32_t>(support.size()); }
  std::uint64_t weight_of(std::uint32_t atom) const { return weight.empty() ? 1 : weight[atom]; }
};

// Why a group could not stay whole.
struct DissolvedGroup {
  std::uint32_t group;
  std::uint32_t enclosed;  // a node on the path that cannot be in the group: unsupported, or of another group
  // A path from a node of the group through `enclosed` back to the group, in nodes. Neighbours are linked by
  // an edge or belong together by groups. Of a long path the middle is left out.
  std::vector<std::uint32_t> path;

  friend bool operator==(const DissolvedGroup&, const DissolvedGroup&) = default;
};

struct Atoms {
  AtomGraph graph;
  std::vector<DissolvedGroup> dissolved;  // by group
};

// What becomes of the nodes of a dissolved group that no other group holds.
enum class LooseNodes : std::uint8_t {
  LeaveOut,    // unsupported: a group is placed whole or not at all
  PlaceAlone,  // what they are alone
};

// What happens to groups that need each other in a circle.
enum class GroupCircles : std::uint8_t {
  Merge,     // they become one atom, with the placeable nodes between them
  Dissolve,  // the later declared ones are dissolved: every atom has one group at most, unless groups overlap
};

Atoms contract_groups(const RegionGraph& graph, LooseNodes loose_nodes,
                      GroupCircles circles = GroupCircles::Merge);

// A path of atoms as a path of nodes: the nodes by which it enters and leaves each atom. Neighbours are
// linked by an edge or sit in one atom. `nodes` and `atom_of` describe the atoms as in AtomGraph.
std::vector<std::uint32_t> nodes_along(const RegionGraph& graph, const Csr& nodes,
                                       std::span<const std::uint32_t> atom_of,
                                       std::span<const std::uint32_t> path);

}  // namespace depute
