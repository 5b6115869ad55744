#include "plan/memory/memory_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "plan/memory/memory_plan.h"
#include "plan/plan_text.h"
#include "support/try.h"

namespace depute {
namespace {

// Leaves room for additions without overflow.
constexpr std::uint64_t any_size = std::uint64_t{1} << 62;

Failure wrong(const MemoryBank& bank, std::string_view message, std::string_view hint = {}) {
  return failure("usage", fmt::format("memory bank {}", in_quotes(bank.name)), message, hint);
}

bool is_name(std::string_view name) {
  constexpr std::string_view signs = "_-.";
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || signs.contains(c);
  });
}

Status check_bank(const MemoryBank& bank, std::span<const MemoryBank> earlier) {
  if (!is_name(bank.name)) return wrong(bank, "the name must have 1 to 64 letters, digits, and _ - .");
  if (bank.size < block_alignment)
    return wrong(bank, fmt::format("its size of {} bytes is below {}", bank.size, block_alignment));
  if (bank.memory_id < 1 || bank.memory_id > max_memory_id)
    return wrong(bank, fmt::format("its memory id {} is not one of 1 to {}", bank.memory_id, max_memory_id));
  if (bank.alignment != 0 && !is_alignment(bank.alignment))
    return wrong(bank, fmt::format("its alignment {} is not a power of two from 1 to {}", bank.alignment,
                                   max_alignment));
  for (const MemoryBank& other : earlier) {
    if (other.name == bank.name) return wrong(bank, "two banks have this name");
    if (other.memory_id == bank.memory_id)
      return wrong(bank,
                   fmt::format("bank {} has the same memory id {}", in_quotes(other.name), bank.memory_id));
  }
  return {};
}

}  // namespace

Result<MemoryMap> MemoryMap::make(const WriteOptions& options, const ValuePins& pins) {
  if (options.planner.place && !options.banks.empty())
    return failure("usage", "memory planner", "banks are for Depute's own planner",
                   "leave out the banks; MemoryPlanner::pin names memories for values");
  MemoryMap map;
  for (const MemoryBank& bank : options.banks) {
    TRY_STATUS(check_bank(bank, map.banks_));
    map.banks_.push_back(bank);
  }
  TRY_STATUS(map.add(pins));
  for (const MemoryPin& pin : options.memory_pins) {
    const auto bank = std::ranges::find(map.banks_, pin.bank, &MemoryBank::name);
    if (bank == map.banks_.end()) {
      std::vector<std::string> names;
      for (const MemoryBank& known : map.banks_) names.push_back(known.name);
      return failure("usage", fmt::format("memory pin {}", in_quotes(pin.selector)),
                     fmt::format("there is no memory bank {}", in_quotes(pin.bank)),
                     names.empty() ? "give banks with --memory NAME=SIZE:ID"
                                   : did_you_mean(pin.bank, names,
                                                  fmt::format("the banks are {}", fmt::join(names, ", "))));
    }
    TRY(NodeSelector selector, NodeSelector::parse(pin.selector));
    map.pins_.emplace_back(static_cast<std::uint32_t>(bank - map.banks_.begin()), std::move(selector));
  }
  return map;
}

Status MemoryMap::add(const ValuePins& pins) {
  if (pins.empty()) return {};
  has_sizes_ = !banks_.empty();
  std::set<std::uint32_t> ids = {1};
  for (const auto& [value, id] : pins) ids.insert(id);
  for (const std::uint32_t id : ids) {
    if (!has_sizes_)
      banks_.push_back({.name = fmt::format("memory{}", id), .size = any_size, .memory_id = id});
  }
  for (const auto& [value, id] : pins) {
    if (index_of(id) < banks_.size()) continue;
    return failure("plan", fmt::format("method {}", value.first),
                   fmt::format("%{} is pinned to memory {}, which no bank has", value.second, id));
  }
  value_pins_ = pins;
  return {};
}

std::uint64_t MemoryMap::alignment(std::size_t bank) const {
  return std::max(banks_[bank].alignment, block_alignment);
}

std::size_t MemoryMap::index_of(std::uint32_t memory_id) const {
  return static_cast<std::size_t>(std::ranges::find(banks_, memory_id, &MemoryBank::memory_id) -
                                  banks_.begin());
}

std::optional<std::uint32_t> MemoryMap::pin_of(const Node& maker) const {
  const auto pin = std::ranges::find_if(pins_, [&](const auto& each) { return each.second.selects(maker); });
  return pin == pins_.end() ? std::nullopt : std::optional(pin->first);
}

std::optional<std::uint32_t> MemoryMap::pin_of_value(const Method& method, const Value& value) const {
  if (value_pins_.empty()) return std::nullopt;
  const auto pin = value_pins_.find({std::string(method.name.str()), std::string(value.name().str())});
  if (pin == value_pins_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(index_of(pin->second));
}

std::optional<std::uint32_t> MemoryMap::pin_of_input(const Method& method, const Value& input,
                                                     std::string_view key) const {
  if (const auto bank = pin_of_value(method, input)) return bank;
  const auto pin =
      std::ranges::find_if(pins_, [&](const auto& each) { return each.second.selects_input(input, key); });
  return pin == pins_.end() ? std::nullopt : std::optional(pin->first);
}

Status MemoryMap::check_known(const Program& program) const {
  for (const auto& [bank, selector] : pins_) {
    if (selector.may_select_nothing() || selector.selects_any(program)) continue;
    return failure("plan", fmt::format("memory pin {}", in_quotes(selector.text())),
                   "this pin selects no value",
                   selector.meant_name(program, "`depute explain` lists the nodes with their modules"));
  }
  return {};
}

Status check_memory(const WriteOptions& options) {
  TRY_STATUS(MemoryMap::make(options));
  return {};
}

}  // namespace depute
