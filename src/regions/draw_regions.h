// Draws regions of several owners one after another, in execution order. The choice of the next owner decides
// how many regions there are:
//
//   a1 -> c1        taken by a, b and c          a goes first: {a1} {c1 c2} {b1}
//   c2 -> b1                                     c goes first: {c2} {a1} {c1} {b1}
//
// Atoms that no owner takes run as soon as they are ready. Then the owner with the longest alternation of
// owners before it opens a region, takes atoms until none is ready for it, and closes the region. Ties go to
// the owner that gains less by waiting, that is, by letting another owner's region run first. This comparison
// looks at a bounded number of atoms, so time is linear in nodes and edges for a given number of owners.
#pragma once

#include <cstdint>
#include <vector>

#include "regions/claim_atoms.h"

namespace depute {

struct DrawnRegions {
  std::vector<std::uint32_t> owner;  // by region, in execution order
  // By atom: twice its region, or the odd number between the regions before and after it.
  std::vector<std::int32_t> label;
};

// With `join_claimed`, an atom of another owner may join regions of owners for which it is neutral.
DrawnRegions draw_regions(const Claims& claims, bool join_claimed);

}  // namespace depute
