// Shapes grown regions: splits them into connected pieces, removes neutral atoms from their edges, and cuts
// large regions. Each step keeps regions free of circular dependencies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "regions/atom_graph.h"

namespace depute {

// Maximum number of times that an owner's regions grow again after refusals.
inline constexpr std::size_t max_refusal_rounds = 3;

struct AtomRegions {
  std::vector<std::uint32_t> region;  // by atom: any number below the number of atoms, or no_region
  std::vector<std::uint32_t> order;   // by atom: constant in a region, never falls along an edge
};

// Makes a region of each even label, in the order of the labels.
AtomRegions regions_from_labels(const std::vector<std::int32_t>& label);

// Returns connected pieces of regions by atom, named by their first atom; no_region outside. If regions come
// from labels, pieces of one region do not reach each other.
std::vector<std::uint32_t> islands_of(const AtomGraph& graph, const std::vector<std::uint32_t>& region);

// Removes neutral atoms that hang on a region by at most one edge if the border does not grow. Also removes
// islands without a supported atom.
//
//   {view -> conv -> view} -> tan      becomes     view -> {conv} -> view -> tan
void trim_neutral(const AtomGraph& graph, std::vector<std::uint32_t>& region);

// CHECKs that no region depends on itself: the order never falls along an edge, and edges that keep the order
// do not cross a border.
void check_order(const AtomGraph& graph, const AtomRegions& regions);

// Returns the atoms of each region, ascending; regions are sorted by (order, first atom).
Csr collect_regions(const AtomRegions& regions);

// Cuts regions with more than `max_nodes` nodes into consecutive runs of their topological order. Cuts within
// the last quarter before the limit, where the fewest bytes are alive. Never cuts an atom.
Csr cut_regions(const AtomGraph& graph, const Csr& regions, std::span<const std::uint32_t> max_nodes);

}  // namespace depute
