#include "tools/size/ledger_duplicates.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "depute/program/hash.h"

namespace depute {
namespace {

// Copies in one store can be merged; copies in different stores cannot.
enum class Store : std::uint8_t { Weights, InitialValues, Payloads };

Store store_of(LedgerKind kind) {
  if (kind == LedgerKind::InitialValue) return Store::InitialValues;
  return kind == LedgerKind::Payload ? Store::Payloads : Store::Weights;
}

// The kinds of copies found in a store.
struct StoreCopies {
  std::size_t count = 0;
  bool has_constant = false;
  bool has_payload_constant = false;
  bool has_named_data = false;
};

std::string_view remedy(Store store, const StoreCopies& copies) {
  switch (store) {
    case Store::Weights:
      if (!copies.has_constant && copies.has_payload_constant)
        return "as named data, delegates of all methods can share it";
      if (!copies.has_constant) return "keys can name one segment";
      if (copies.has_payload_constant)
        return "as named data, its segment can lie inside that of the constants";
      if (copies.has_named_data) return "the segment of named data can lie inside that of the constants";
      return "values of all methods can name one constant";
    case Store::InitialValues:
      return "states can start from one initial value";
    case Store::Payloads:
      return "delegates can name one segment";
  }
  std::unreachable();
}

class DuplicateFinder {
 public:
  DuplicateFinder(std::span<const LedgerEntry> units, std::span<const std::byte> file)
      : units_(units), file_(file) {}

  std::vector<Duplicate> run() {
    add_groups(true);
    add_groups(false);
    std::ranges::stable_sort(found_, [](const Duplicate& a, const Duplicate& b) {
      return std::pair(a.saves, a.copies[0].bytes) > std::pair(b.saves, b.copies[0].bytes);
    });
    return std::move(found_);
  }

 private:
  std::span<const std::byte> bytes_of(const LedgerEntry& unit) const {
    return file_.subspan(unit.offset, unit.bytes);
  }

  // True if the unit is inside a payload that is a copy of an earlier payload.
  bool is_counted(const LedgerEntry& unit) const {
    auto after = copies_.upper_bound(unit.offset);
    return after != copies_.begin() && unit.offset < std::prev(after)->second;
  }

  void add_groups(bool payloads) {
    std::vector<const LedgerEntry*> units;
    std::unordered_map<std::uint64_t, std::size_t> with_size;
    for (const LedgerEntry& unit : units_) {
      if ((unit.kind == LedgerKind::Payload) != payloads || unit.bytes == 0 || is_counted(unit)) continue;
      units.push_back(&unit);
      ++with_size[unit.bytes];
    }
    std::ranges::stable_sort(units, {}, [](const LedgerEntry* unit) { return unit->offset; });
    std::map<std::pair<std::uint64_t, Hash128>, std::vector<const LedgerEntry*>> groups;
    for (const LedgerEntry* unit : units) {
      if (with_size[unit->bytes] < 2) continue;
      std::vector<const LedgerEntry*>& group = groups[{unit->bytes, hash128(bytes_of(*unit))}];
      // Skips units at the same position (already shared) and units that have only the hash in common.
      const bool is_place_known = !group.empty() && group.back()->offset == unit->offset;
      const bool is_equal = group.empty() || std::ranges::equal(bytes_of(*group[0]), bytes_of(*unit));
      if (!is_place_known && is_equal) group.push_back(unit);
    }
    for (const auto& [key, group] : groups) {
      if (group.size() > 1) add_group(group);
    }
  }

  void add_group(const std::vector<const LedgerEntry*>& group) {
    Duplicate duplicate;
    std::map<Store, StoreCopies> stores;
    for (const LedgerEntry* unit : group) {
      duplicate.copies.push_back(*unit);
      StoreCopies& copies = stores[store_of(unit->kind)];
      ++copies.count;
      copies.has_constant = copies.has_constant || unit->kind == LedgerKind::Constant;
      copies.has_named_data = copies.has_named_data || unit->kind == LedgerKind::NamedData;
      copies.has_payload_constant = copies.has_payload_constant || unit->kind == LedgerKind::PayloadConstant;
      if (unit->kind == LedgerKind::Payload && unit != group[0])
        copies_.emplace(unit->offset, unit->offset + unit->bytes);
    }
    for (const auto& [store, copies] : stores) {
      if (copies.count < 2) continue;
      duplicate.saves += (copies.count - 1) * group[0]->bytes;
      duplicate.how += duplicate.how.empty() ? "" : "; ";
      duplicate.how += remedy(store, copies);
    }
    if (stores.size() > 1) {
      duplicate.how += duplicate.how.empty() ? "" : "; ";
      duplicate.how += "initial values are kept apart from others";
    }
    found_.push_back(std::move(duplicate));
  }

  std::span<const LedgerEntry> units_;
  std::span<const std::byte> file_;
  std::map<std::uint64_t, std::uint64_t> copies_;  // copies of payloads: begin -> end
  std::vector<Duplicate> found_;
};

}  // namespace

std::vector<Duplicate> find_duplicates(std::span<const LedgerEntry> units, std::span<const std::byte> file) {
  return DuplicateFinder(units, file).run();
}

}  // namespace depute
