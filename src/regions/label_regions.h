// Two-colour levels: each atom gets a label that never falls along an edge; supported atoms get even labels,
// unsupported ones odd labels, neutral ones any. Atoms that share an even label can share a region: every
// edge between two regions raises the label, so regions cannot depend on each other in a circle.
//
//   conv -> relu -> tan -> add -> softmax -> mul
//   S       S       U      S      U          S
//   0       0       1      2      3          4         labels; regions {conv relu} {add} {mul}
//
// The earliest labels need as many even labels as the longest alternation on one path has supported runs, and
// no valid partition can do with fewer regions: a region in two runs of one path would depend on itself. The
// latest labels use the same number. Atoms off that path have room between the two (settle_regions.h).
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

// The atoms of a path with as many supported runs as there are regions: the proof that fewer regions are
// impossible. Empty without supported atoms.
std::vector<std::uint32_t> witness_path(const AtomGraph& graph, const LabelRange& range);

// A path to `atom` with a supported run for each region that must come before it, its own included; and a
// path from it with one for each region that must come after.
std::vector<std::uint32_t> path_before(const AtomGraph& graph, const LabelRange& range, std::uint32_t atom);
std::vector<std::uint32_t> path_after(const AtomGraph& graph, const LabelRange& range, std::uint32_t atom);

}  // namespace depute
