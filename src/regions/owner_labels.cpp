#include "regions/owner_labels.h"

#include <algorithm>
#include <utility>

namespace depute {

OwnerLabels::OwnerLabels(const Claims& claims, std::span<const std::uint32_t> owner_of_region)
    : claims_(claims),
      owner_of_region_(owner_of_region),
      last_(2 * static_cast<std::int32_t>(owner_of_region.size()) - 2) {
  const std::size_t count = owner_of_region.size();
  const std::size_t owners = claims.joins.size();
  next_.assign(owners, std::vector<std::int32_t>(count + 1, last_ + 2));
  previous_.assign(owners, std::vector<std::int32_t>(count, -2));
  for (std::size_t owner = 0; owner < owners; ++owner) {
    for (std::size_t region = 0; region < count; ++region) {
      const bool is_own = owner_of_region[region] == owner;
      const std::int32_t before = region > 0 ? previous_[owner][region - 1] : -2;
      previous_[owner][region] = is_own ? 2 * static_cast<std::int32_t>(region) : before;
    }
    for (std::size_t region = count; region-- > 0;) {
      const bool is_own = owner_of_region[region] == owner;
      next_[owner][region] = is_own ? 2 * static_cast<std::int32_t>(region) : next_[owner][region + 1];
    }
  }
}

bool OwnerLabels::may_join(std::uint32_t atom, std::int32_t label) const {
  return claims_.joins[owner_of_region_[static_cast<std::size_t>(label) / 2]][atom] != 0;
}

std::int32_t OwnerLabels::at_least(std::uint32_t atom, std::int32_t label) const {
  const std::uint32_t owner = claims_.owner[atom];
  if (owner != no_owner) return next_[owner][static_cast<std::size_t>(label + 1) / 2];
  const bool fits = (label & 1) != 0 || may_join(atom, label);
  return fits ? label : label + 1;
}

std::int32_t OwnerLabels::at_most(std::uint32_t atom, std::int32_t label) const {
  const std::uint32_t owner = claims_.owner[atom];
  if (owner != no_owner) return label < 0 ? -2 : previous_[owner][static_cast<std::size_t>(label) / 2];
  const bool fits = (label & 1) != 0 || may_join(atom, label);
  return fits ? label : label - 1;
}

LabelRange OwnerLabels::range(std::vector<std::int32_t> drawn, std::span<const std::uint8_t> stays) const {
  LabelRange range{.earliest = std::move(drawn), .latest = {}, .last = last_};
  range.latest.resize(range.earliest.size());
  for (auto atom = static_cast<std::uint32_t>(range.latest.size()); atom-- > 0;) {
    std::int32_t label = last_ + 1;
    for (std::uint32_t succ : claims_.atoms.succs[atom]) label = std::min(label, range.latest[succ]);
    range.latest[atom] = stays[atom] != 0 ? range.earliest[atom] : at_most(atom, label);
  }
  return range;
}

}  // namespace depute
