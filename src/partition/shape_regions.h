// What is done to regions once they have grown: split them into their connected pieces, take neutral atoms
// off their edges, cut what is too large. Each step keeps regions free of circular dependences.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/atom_graph.h"

namespace depute {

struct AtomRegions {
  std::vector<std::uint32_t> region;  // per atom: any number below the number of atoms, or no_region
  std::vector<std::uint32_t> order;   // per atom: the same all over a region, and never falling along an edge
};

// Connected pieces of regions, per atom, named by their first atom; no_region outside. Pieces of one region
// do not reach each other when regions come from labels.
std::vector<std::uint32_t> islands_of(const AtomGraph& graph, const std::vector<std::uint32_t>& region);

// Neutral atoms leave a region when they hang on it by one edge at most and the border does not grow, so do
// islands without a supported atom.
//
//   {view -> conv -> view} -> tan      becomes     view -> {conv} -> view -> tan
void trim_neutral(const AtomGraph& graph, std::vector<std::uint32_t>& region);

// The atoms of each region, ascending; regions by (order, first atom).
Csr collect_regions(const AtomRegions& regions);

// Cuts regions of more than `max_nodes` nodes into consecutive runs of their topological order. Of the places
// in the last quarter before the limit the one with the fewest values alive is taken. An atom is never cut.
Csr cut_regions(const AtomGraph& graph, const Csr& regions, std::uint32_t max_nodes);

}  // namespace depute
