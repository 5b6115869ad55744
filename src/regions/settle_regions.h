// Settling: atoms with room between their earliest and latest label move where fewer values cross region
// borders. The number of regions stays as it is.
//
//   a -> b -> tan -> c        labels 0 0 1 2; d may have 0 or 2
//   a -> d                    d at 2: {a b} {c d}, where a leaves one region and enters the other
//                             d at 0: {a b d} {c}, where it does neither
//
// The border is the total size of the values that enter regions (once per region) and leave them. One round
// sweeps from the outputs to the inputs and back; an atom may take the labels between its predecessors and
// its successors, and the two ends of that window are compared, since no neighbour has a label inside it. The
// best labelling of all rounds wins; the latest labels are among them, so the border is never larger than
// theirs.
#pragma once

#include <cstdint>
#include <vector>

#include "regions/label_regions.h"
#include "regions/owner_labels.h"

namespace depute {

std::vector<std::int32_t> settle_regions(const AtomGraph& graph, const LabelRange& range);

// The same where each even label belongs to one of several owners.
std::vector<std::int32_t> settle_regions(const AtomGraph& graph, const LabelRange& range,
                                         const OwnerLabels& labels);

}  // namespace depute
