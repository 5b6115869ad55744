#include "plan/memory/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "plan/memory/free_list.h"
#include "plan/memory/live_blocks.h"

namespace depute {
namespace {

// Limits the comparisons of one packing: enough for every ordinary graph, linear in the number of blocks for
// others.
constexpr std::uint64_t steps_per_block = 64;
constexpr std::uint64_t free_steps = 1 << 20;

std::uint64_t padded(const MemoryBlock& block) {
  return (block.bytes + block_alignment - 1) / block_alignment * block_alignment;
}

// Returns the non-empty blocks, in order of index.
std::vector<std::uint32_t> occupied(std::span<const MemoryBlock> blocks) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].bytes > 0) order.push_back(i);
  }
  return order;
}

// Places blocks in the given order, each into the best gap between the blocks alive with it. Returns nullopt
// after too many steps.
std::optional<MemoryPlan> pack_into_gaps(std::span<const MemoryBlock> blocks,
                                         std::span<const std::uint32_t> order) {
  MemoryPlan plan;
  plan.offsets.resize(blocks.size());
  LiveBlocks placed(blocks);
  std::uint64_t steps = free_steps + steps_per_block * order.size();
  std::vector<std::uint32_t> found;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> neighbors;
  for (std::uint32_t block : order) {
    found.clear();
    placed.find_overlapping(block, found);
    if (found.size() > steps) return std::nullopt;
    steps -= found.size();
    neighbors.clear();
    for (std::uint32_t other : found) {
      neighbors.emplace_back(plan.offsets[other], plan.offsets[other] + padded(blocks[other]));
    }
    std::ranges::sort(neighbors);
    plan.offsets[block] = best_gap(neighbors, padded(blocks[block]));
    plan.bytes = std::max(plan.bytes, plan.offsets[block] + padded(blocks[block]));
    placed.insert(block);
  }
  return plan;
}

// Walks through time like an allocator at run time; each block takes the best-fitting free part.
MemoryPlan pack_by_time(std::span<const MemoryBlock> blocks) {
  MemoryPlan plan;
  plan.offsets.resize(blocks.size());
  std::vector<std::uint32_t> order = occupied(blocks);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) {
    return std::pair(blocks[i].first, ~blocks[i].bytes);  // larger ones first
  });
  FreeList free;
  using Ending = std::pair<std::uint32_t, std::uint32_t>;  // last, block
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive;
  for (std::uint32_t block : order) {
    while (!alive.empty() && alive.top().first < blocks[block].first) {
      std::uint32_t dead = alive.top().second;
      alive.pop();
      free.give_back(plan.offsets[dead], padded(blocks[dead]));
    }
    plan.offsets[block] = *free.take(padded(blocks[block]));
    alive.emplace(blocks[block].last, block);
  }
  plan.bytes = free.end();
  return plan;
}

std::vector<std::uint32_t> largest_first(std::span<const MemoryBlock> blocks) {
  std::vector<std::uint32_t> order = occupied(blocks);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t i) { return blocks[i].bytes; });
  return order;
}

std::vector<std::uint32_t> longest_lived_first(std::span<const MemoryBlock> blocks) {
  std::vector<std::uint32_t> order = occupied(blocks);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t i) {
    return std::pair(blocks[i].last - blocks[i].first, blocks[i].bytes);
  });
  return order;
}

}  // namespace

std::uint64_t best_gap(std::span<const std::pair<std::uint64_t, std::uint64_t>> neighbors,
                       std::uint64_t bytes) {
  std::uint64_t end = 0;
  std::uint64_t best = 0;
  std::uint64_t best_room = 0;  // 0: none found
  for (auto [begin, stop] : neighbors) {
    std::uint64_t room = begin > end ? begin - end : 0;
    if (room >= bytes && (best_room == 0 || room < best_room)) {
      best = end;
      best_room = room;
    }
    end = std::max(end, stop);
  }
  return best_room == 0 ? end : best;
}

std::uint64_t peak_bytes(std::span<const MemoryBlock> blocks) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> changes;  // time (births even, deaths odd), bytes
  for (const MemoryBlock& block : blocks) {
    if (block.bytes == 0) continue;
    changes.emplace_back(2 * std::uint64_t{block.first}, padded(block));
    changes.emplace_back(2 * std::uint64_t{block.last} + 1, padded(block));
  }
  std::ranges::sort(changes);
  std::uint64_t alive = 0;
  std::uint64_t peak = 0;
  for (auto [time, bytes] : changes) {
    alive = time % 2 == 0 ? alive + bytes : alive - bytes;
    peak = std::max(peak, alive);
  }
  return peak;
}

MemoryPlan plan_memory(std::span<const MemoryBlock> blocks) {
  std::uint64_t least = peak_bytes(blocks);
  std::optional<MemoryPlan> best = pack_into_gaps(blocks, largest_first(blocks));
  auto consider = [&](std::optional<MemoryPlan> other) {
    if (other && (!best || other->bytes < best->bytes)) best = std::move(other);
  };
  if (!best || best->bytes > least) consider(pack_by_time(blocks));
  if (best->bytes > least) consider(pack_into_gaps(blocks, longest_lived_first(blocks)));
  return std::move(*best);
}

}  // namespace depute
