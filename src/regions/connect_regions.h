// Connected regions: regions grow along edges only, so they never contain unrelated nodes.
//
//   a -> b      c -> d                 by labels: {a b c d}; connected: {a b} {c d}
//
// Contracts edges between placeable atoms one by one, from the last consumer to the first. An edge is skipped
// if another path links its ends through outside atoms: the merged region would depend on itself. A
// topological order of the contracted atoms is maintained (Pearce and Kelly), so a search looks only between
// the ranks of both ends. Each search has a fixed edge budget and skips the edge when it is used up, so total
// work is linear in edges. If that happened, contraction runs again from the connected pieces of settled
// labels. The result with fewer regions wins.
#pragma once

#include "regions/label_regions.h"
#include "regions/shape_regions.h"

namespace depute {

AtomRegions connect_regions(const AtomGraph& graph, const LabelRange& range);

}  // namespace depute
