// Settling: moves atoms between their earliest and latest label so that fewer values cross region borders.
// The number of regions does not change.
//
//   a -> b -> tan -> c        labels 0 0 1 2; d may have 0 or 2
//   a -> d                    d at 2: {a b} {c d}, where a leaves one region and enters the other
//                             d at 0: {a b d} {c}, where it does neither
//
// The border is the total size of the values that enter regions (once per region) and leave them. One round
// sweeps from the outputs to the inputs and back. An atom may take the labels between its predecessors and
// its successors. Only the two ends of that window are compared, since no neighbor has a label inside it. The
// best labeling of all rounds wins; the latest labels are included, so the border never exceeds theirs.
#pragma once

#include <cstdint>
#include <vector>

#include "regions/label_regions.h"
#include "regions/owner_labels.h"

namespace depute {

std::vector<std::int32_t> settle_regions(const AtomGraph& graph, const LabelRange& range);

// Settles regions of several owners: each even label belongs to one of them.
std::vector<std::int32_t> settle_regions(const AtomGraph& graph, const LabelRange& range,
                                         const OwnerLabels& labels);

}  // namespace depute
