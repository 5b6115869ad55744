// Regions for several owners in one pass over the graph (plan_owners.h).
//
//   ready nodes    first: a        second: b, c        after b and c a further region of first waits
//   taken          second's region {b c ...} before first's {a ...}, which then swallows that further one
//
// Nodes that no owner takes run as soon as they are ready. Then a region opens for the owner with the longest
// alternation of owners before it, takes what it can until nothing is ready for it, and closes. A node
// that an owner takes only where it is useful (neutral) joins that owner's region when it is ready there.
// Time is linear in nodes and edges for a given number of owners. Groups that lie across one another are
// dissolved, later declared ones first (claim_atoms.h).
#pragma once

#include <optional>
#include <span>

#include "regions/plan_owners.h"

namespace depute {

OwnersPlan plan_in_one_pass(const RegionGraph& graph, std::span<const OwnerQuestion> owners);

}  // namespace depute
