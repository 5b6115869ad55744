// What is done to regions once they have grown: split them into their connected pieces, take neutral atoms
// off their edges, cut what is too large. Each step keeps regions free of circular dependences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "regions/atom_graph.h"

namespace depute {

// How often an owner's regions grow anew after pieces were refused: each time only takes support away.
inline constexpr std::size_t max_refusal_rounds = 3;

struct AtomRegions {
  std::vector<std::uint32_t> region;  // per atom: any number below the number of atoms, or no_region
  std::vector<std::uint32_t> order;   // per atom: the same all over a region, and never falling along an edge
};

// A region for each even label; the order is that of the labels.
AtomRegions regions_from_labels(const std::vector<std::int32_t>& label);

// Connected pieces of regions, per atom, named by their first atom; no_region outside. Pieces of one region
// do not reach each other when regions come from labels.
std::vector<std::uint32_t> islands_of(const AtomGraph& graph, const std::vector<std::uint32_t>& region);

// The same, but islands of one region stay together when they read one value from outside, when one reader
// outside reads both, or when nodes of the two are at most `distance` numbers apart.
std::vector<std::uint32_t> near_islands_of(const RegionGraph& graph, const AtomGraph& atoms,
                                           const std::vector<std::uint32_t>& region, std::uint32_t distance);

// Neutral atoms leave a region when they hang on it by one edge at most and the border does not grow, so do
// islands without a supported atom.
//
//   {view -> conv -> view} -> tan      becomes     view -> {conv} -> view -> tan
void trim_neutral(const AtomGraph& graph, std::vector<std::uint32_t>& region);

// CHECKs that no region depends on itself: the order never falls along an edge, and an edge that keeps it
// stays in or out of a region.
void check_order(const AtomGraph& graph, const AtomRegions& regions);

// The atoms of each region, ascending; regions by (order, first atom).
Csr collect_regions(const AtomRegions& regions);

// Cuts regions of more nodes than their limit into consecutive runs of their topological order. Of the places
// in the last quarter before the limit the one with the fewest values alive is taken. An atom is never cut.
Csr cut_regions(const AtomGraph& graph, const Csr& regions, std::span<const std::uint32_t> max_nodes);

}  // namespace depute
