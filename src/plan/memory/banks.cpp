#include "plan/memory/banks.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "plan/memory/free_list.h"
#include "plan/memory/live_blocks.h"

namespace depute {
namespace {

using Order = std::vector<std::uint32_t>;

class BankPacker {
 public:
  BankPacker(std::span<const MemoryBlock> blocks, std::span<const BlockUse> uses,
             std::span<const BankRoom> rooms)
      : blocks_(blocks),
        uses_(uses),
        rooms_(rooms),
        none_placed_(blocks),
        steps_(first_steps + further_steps * blocks.size()) {}

  BankPlan run() {
    if (auto plan = all_in_first_bank()) return std::move(*plan);
    BankPlan best = pack_by_time();
    Order best_order;
    for (Order& order : orders()) {
      auto plan = pack(order);
      if (!plan || (plan->cost >= best.cost && !best_order.empty())) continue;
      if (plan->cost < best.cost) best = std::move(*plan);
      best_order = std::move(order);
    }
    if (!best_order.empty()) improve(best, std::move(best_order));
    compact(best);
    refill(best);
    return best;
  }

 private:
  std::uint64_t padded(std::uint32_t block, std::size_t bank) const {
    const std::uint64_t alignment = rooms_[bank].alignment;
    return (blocks_[block].bytes + alignment - 1) / alignment * alignment;
  }

  bool may_hold(std::size_t bank, std::uint32_t block) const {
    return uses_[block].bank == any_bank || uses_[block].bank == bank;
  }

  BankPlan empty_plan() const {
    BankPlan plan;
    plan.banks.resize(blocks_.size());
    plan.offsets.resize(blocks_.size());
    plan.used.resize(rooms_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      plan.banks[i] = uses_[i].bank == any_bank ? 0 : uses_[i].bank;
    return plan;
  }

  void put(BankPlan& plan, std::uint32_t block, std::size_t bank, std::uint64_t offset) const {
    plan.banks[block] = static_cast<std::uint32_t>(bank);
    plan.offsets[block] = offset;
    plan.used[bank] = std::max(plan.used[bank], offset + padded(block, bank));
  }

  void add_cost(BankPlan& plan) const {
    plan.cost = {};
    for (std::size_t bank = 0; bank < rooms_.size(); ++bank) {
      plan.cost.bytes += plan.used[bank];
      if (plan.used[bank] > rooms_[bank].bytes) plan.cost.excess += plan.used[bank] - rooms_[bank].bytes;
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      plan.cost.slow_traffic += uses_[i].traffic * plan.banks[i];
  }

  // Returns the blocks of a bank with a plan for them alone.
  std::pair<Order, MemoryPlan> plan_alone(const BankPlan& plan, std::size_t bank) const {
    std::pair<Order, MemoryPlan> alone;
    std::vector<MemoryBlock> blocks;
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
      if (plan.banks[i] != bank || blocks_[i].bytes == 0) continue;
      alone.first.push_back(i);
      blocks.push_back({blocks_[i].first, blocks_[i].last, padded(i, bank)});
    }
    alone.second = plan_memory(blocks);
    return alone;
  }

  void apply(BankPlan& plan, std::size_t bank, const std::pair<Order, MemoryPlan>& alone) const {
    plan.used[bank] = 0;
    for (std::size_t i = 0; i < alone.first.size(); ++i)
      put(plan, alone.first[i], bank, alone.second.offsets[i]);
  }

  std::optional<BankPlan> all_in_first_bank() const {
    if (!std::ranges::all_of(uses_,
                             [](const BlockUse& use) { return use.bank == any_bank || use.bank == 0; }))
      return std::nullopt;
    BankPlan plan = empty_plan();
    const auto alone = plan_alone(plan, 0);
    if (alone.second.bytes > rooms_[0].bytes) return std::nullopt;
    apply(plan, 0, alone);
    add_cost(plan);
    return plan;
  }

  // Pinned blocks come first in every order, since no other bank may hold them.
  std::vector<Order> orders() const {
    using Key = std::function<double(std::uint32_t)>;
    const auto bytes = [&](std::uint32_t i) { return static_cast<double>(blocks_[i].bytes); };
    const auto traffic = [&](std::uint32_t i) { return static_cast<double>(uses_[i].traffic); };
    const auto life = [&](std::uint32_t i) {
      return static_cast<double>(blocks_[i].last - blocks_[i].first) + 1;
    };
    const Key keys[] = {
        bytes,
        [&](std::uint32_t i) { return traffic(i) / (bytes(i) * life(i)); },
        [&](std::uint32_t i) { return traffic(i) / bytes(i); },
        traffic,
        life,
    };
    Order occupied;
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].bytes > 0) occupied.push_back(i);
    }
    std::vector<Order> all;
    for (const Key& key : keys) {
      Order& order = all.emplace_back(occupied);
      std::ranges::stable_sort(order, std::ranges::greater(), [&](std::uint32_t i) {
        return std::tuple(uses_[i].bank != any_bank, key(i), bytes(i));
      });
    }
    return all;
  }

  // Places blocks in order, each into the first bank with a gap for it. Returns nullopt after too many steps.
  std::optional<BankPlan> pack(const Order& order) {
    BankPlan plan = empty_plan();
    std::vector<LiveBlocks> placed(rooms_.size(), none_placed_);
    for (const std::uint32_t block : order) {
      std::pair<std::size_t, std::uint64_t> place;
      for (std::size_t bank = 0; bank < rooms_.size(); ++bank) {
        if (!may_hold(bank, block)) continue;
        place = {bank, gap(plan, placed[bank], block, bank)};
        if (place.second + padded(block, bank) <= rooms_[bank].bytes) break;
      }
      if (steps_ == 0) return std::nullopt;
      put(plan, block, place.first, place.second);
      placed[place.first].insert(block);
    }
    add_cost(plan);
    return plan;
  }

  std::uint64_t gap(const BankPlan& plan, const LiveBlocks& placed, std::uint32_t block, std::size_t bank) {
    found_.clear();
    placed.find_overlapping(block, found_);
    steps_ -= std::min<std::uint64_t>(steps_, found_.size() + 1);
    neighbors_.clear();
    for (const std::uint32_t other : found_)
      neighbors_.emplace_back(plan.offsets[other], plan.offsets[other] + padded(other, bank));
    std::ranges::sort(neighbors_);
    return best_gap(neighbors_, padded(block, bank));
  }

  // Walks through time like an allocator at run time; each block takes a free part of the first bank that has
  // one.
  BankPlan pack_by_time() const {
    BankPlan plan = empty_plan();
    Order order(blocks_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::erase_if(order, [&](std::uint32_t i) { return blocks_[i].bytes == 0; });
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) {
      return std::tuple(blocks_[i].first, uses_[i].bank == any_bank, ~blocks_[i].bytes);
    });
    std::vector<FreeList> free(rooms_.size());
    using Ending = std::pair<std::uint32_t, std::uint32_t>;  // last, block
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
    for (const std::uint32_t block : order) {
      for (; !alive.empty() && alive.top().first < blocks_[block].first; alive.pop()) {
        const std::uint32_t dead = alive.top().second;
        free[plan.banks[dead]].give_back(plan.offsets[dead], padded(dead, plan.banks[dead]));
      }
      std::size_t last = 0;
      std::optional<std::uint64_t> offset;
      for (std::size_t bank = 0; bank < rooms_.size() && !offset; ++bank) {
        if (!may_hold(bank, block)) continue;
        last = bank;
        offset = free[bank].take(padded(block, bank), rooms_[bank].bytes);
      }
      if (!offset) offset = free[last].take(padded(block, last));
      put(plan, block, last, *offset);
      alive.emplace(blocks_[block].last, block);
    }
    add_cost(plan);
    return plan;
  }

  // Returns the blocks that a better plan would move: those beyond the end of a bank, then those in slow banks,
  // by traffic.
  Order misplaced(const BankPlan& plan) const {
    const auto is_beyond = [&](std::uint32_t i) {
      return plan.offsets[i] + padded(i, plan.banks[i]) > rooms_[plan.banks[i]].bytes;
    };
    Order order;
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
      const bool is_slow = plan.banks[i] > 0 && uses_[i].bank == any_bank;
      if (blocks_[i].bytes > 0 && (is_slow || is_beyond(i))) order.push_back(i);
    }
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::uint32_t i) {
      return std::pair(is_beyond(i), uses_[i].traffic * plan.banks[i]);
    });
    return order;
  }

  // Packs again with one misplaced block first, as long as that makes the plan better.
  void improve(BankPlan& best, Order order) {
    for (bool is_better = true; is_better;) {
      is_better = false;
      for (const std::uint32_t block : misplaced(best)) {
        Order moved = order;
        const auto at = std::ranges::find(moved, block);
        std::rotate(moved.begin(), at, at + 1);
        auto plan = pack(moved);
        if (!plan) return;
        if (plan->cost >= best.cost) continue;
        best = std::move(*plan);
        order = std::move(moved);
        is_better = true;
        break;
      }
    }
  }

  void compact(BankPlan& plan) const {
    for (std::size_t bank = 0; bank < rooms_.size(); ++bank) {
      const auto alone = plan_alone(plan, bank);
      if (alone.second.bytes < plan.used[bank]) apply(plan, bank, alone);
    }
    add_cost(plan);
  }

  // Moves blocks into gaps of faster banks that compaction has opened.
  void refill(BankPlan& plan) {
    std::vector<LiveBlocks> placed(rooms_.size(), none_placed_);
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].bytes > 0) placed[plan.banks[i]].insert(i);
    }
    for (const std::uint32_t block : misplaced(plan)) {
      if (uses_[block].bank != any_bank) continue;
      for (std::size_t bank = 0; bank < plan.banks[block]; ++bank) {
        const std::uint64_t offset = gap(plan, placed[bank], block, bank);
        if (offset + padded(block, bank) > rooms_[bank].bytes) continue;
        put(plan, block, bank, offset);
        placed[bank].insert(block);
        break;
      }
    }
    std::ranges::fill(plan.used, 0);
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].bytes > 0) put(plan, i, plan.banks[i], plan.offsets[i]);
    }
    add_cost(plan);
  }

  // Limit the comparisons of all packings together.
  static constexpr std::uint64_t first_steps = 1 << 22;
  static constexpr std::uint64_t further_steps = 512;  // per block

  std::span<const MemoryBlock> blocks_;
  std::span<const BlockUse> uses_;
  std::span<const BankRoom> rooms_;
  LiveBlocks none_placed_;
  std::uint64_t steps_;  // that are left
  std::vector<std::uint32_t> found_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> neighbors_;
};

}  // namespace

BankPlan plan_banks(std::span<const MemoryBlock> blocks, std::span<const BlockUse> uses,
                    std::span<const BankRoom> rooms) {
  return BankPacker(blocks, uses, rooms).run();
}

}  // namespace depute
