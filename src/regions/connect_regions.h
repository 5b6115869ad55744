// Connected regions: regions grow along edges only, so unrelated nodes never share one.
//
//   a -> b      c -> d                 by labels: {a b c d}; connected: {a b} {c d}
//
// Edges between placeable atoms are contracted one by one, consumers from the last to the first, unless
// another path leads from the one end to the other through atoms outside: the two would then depend on what
// lies between. An order of the contracted atoms is kept up to date (Pearce and Kelly), so the search for
// such a path looks only between the ranks of the two ends. It gives up after a fixed number of edges and
// leaves the two apart: the work stays linear in the edges. When that has happened, contraction is tried a
// second time from the connected pieces of settled labels, and the result with fewer regions is taken.
#pragma once

#include "regions/label_regions.h"
#include "regions/shape_regions.h"

namespace depute {

AtomRegions connect_regions(const AtomGraph& graph, const LabelRange& range);

}  // namespace depute
