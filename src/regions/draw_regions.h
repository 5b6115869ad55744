// Regions of several owners, drawn one after another as the graph runs. Which owner's comes next decides how
// many there will be:
//
//   a1 -> c1        taken by a, b and c          a goes first: {a1} {c1 c2} {b1}
//   c2 -> b1                                     c goes first: {c2} {a1} {c1} {b1}
//
// Atoms that no owner takes run as soon as they are ready. Then the owner with the longest alternation of
// owners before it opens a region, takes what it can until nothing is ready for it, and closes it. Of equals
// it is the one that has less to gain by waiting: for each it is looked what its region would have beside, if
// that of another went first. This look stops after a number of atoms, so time is linear in nodes and edges
// for a given number of owners.
#pragma once

#include <cstdint>
#include <vector>

#include "regions/claim_atoms.h"

namespace depute {

struct DrawnRegions {
  std::vector<std::uint32_t> owner;  // per region, in the order in which they run
  // Per atom: twice its region, or the odd number between those that it runs between.
  std::vector<std::int32_t> label;
};

// `join_claimed`: an atom that another owner takes may join where it is neutral.
DrawnRegions draw_regions(const Claims& claims, bool join_claimed);

}  // namespace depute
