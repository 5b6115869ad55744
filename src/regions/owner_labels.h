// Labels for several owners: each even label belongs to the owner of its region.
//
//   regions    first  second  first       atom of first: 0 or 4      undelegated: -1, 1, 3 or 5
//   labels     0      2       4           atom of second: 2          neutral: also the labels it may join
//
// Each atom has a range, as with one owner: from the label at which it was drawn (draw_regions.h) to the last
// label that leaves room for its successors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "regions/claim_atoms.h"
#include "regions/label_regions.h"

namespace depute {

class OwnerLabels {
 public:
  OwnerLabels(const Claims& claims, std::span<const std::uint32_t> owner_of_region);

  // Returns the nearest label that the atom may have: at_least() searches upwards from `label`, at_most()
  // downwards. Labels range from -1 to one more than the maximum even label.
  std::int32_t at_least(std::uint32_t atom, std::int32_t label) const;
  std::int32_t at_most(std::uint32_t atom, std::int32_t label) const;

  // Atoms with `stays` 1 keep the label at which they were drawn.
  LabelRange range(std::vector<std::int32_t> drawn, std::span<const std::uint8_t> stays) const;

 private:
  bool may_join(std::uint32_t atom, std::int32_t label) const;

  const Claims& claims_;
  std::span<const std::uint32_t> owner_of_region_;
  std::int32_t last_;  // the maximum even label
  // By owner and half of a label: the owner's next region from there, and the previous one.
  std::vector<std::vector<std::int32_t>> next_;
  std::vector<std::vector<std::int32_t>> previous_;
};

}  // namespace depute
