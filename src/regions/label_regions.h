// Two-color levels: each atom gets a label that never falls along an edge. Supported atoms get even labels,
// unsupported ones odd labels, neutral ones any. Atoms with the same even label can share a region: every
// edge between two regions raises the label, so regions cannot form a cycle.
//
//   conv -> relu -> tan -> add -> softmax -> mul
//   S       S       U      S      U          S
//   0       0       1      2      3          4         labels; regions {conv relu} {add} {mul}
//
// The earliest labels use as many even labels as the longest alternation on one path has supported runs. No
// valid partition has fewer regions: a region in two runs of one path would depend on itself. The latest
// labels use the same number. Atoms off that path may move between the two (settle_regions.h).
#pragma once

#include <cstdint>
#include <vector>

#include "regions/atom_graph.h"

namespace depute {

struct LabelRange {
  std::vector<std::int32_t> earliest;
  std::vector<std::int32_t> latest;
  std::int32_t last = -2;  // the largest even label of a supported atom

  std::uint32_t region_count() const { return static_cast<std::uint32_t>(last / 2 + 1); }
};

LabelRange label_regions(const AtomGraph& graph);

// Returns the atoms of a path with as many supported runs as there are regions. It proves that fewer regions
// are impossible. Empty without supported atoms.
std::vector<std::uint32_t> witness_path(const AtomGraph& graph, const LabelRange& range);

// path_before() returns a path to `atom` with one supported run for each region up to its own. path_after()
// returns a path from `atom` with one for each region that must come after.
std::vector<std::uint32_t> path_before(const AtomGraph& graph, const LabelRange& range, std::uint32_t atom);
std::vector<std::uint32_t> path_after(const AtomGraph& graph, const LabelRange& range, std::uint32_t atom);

}  // namespace depute
