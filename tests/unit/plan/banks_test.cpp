#include "plan/memory/banks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace depute {
namespace {

struct Problem {
  std::vector<MemoryBlock> blocks;
  std::vector<BlockUse> uses;
  std::vector<BankRoom> rooms;

  BankPlan plan() const { return plan_banks(blocks, uses, rooms); }
  std::uint64_t end(const BankPlan& plan, std::size_t i) const {
    const std::uint64_t alignment = rooms[plan.banks[i]].alignment;
    return plan.offsets[i] + (blocks[i].bytes + alignment - 1) / alignment * alignment;
  }
  bool meet_in_time(std::size_t i, std::size_t j) const {
    return blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
  }
};

Problem random_problem(std::mt19937& random, std::size_t count, std::size_t banks) {
  Problem problem;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = static_cast<std::uint32_t>(random() % (count + 1));
    problem.blocks.push_back({first, first + static_cast<std::uint32_t>(random() % 5), 1 + random() % 400});
    problem.uses.push_back({problem.blocks.back().bytes * (1 + random() % 6)});
    if (random() % 8 == 0) problem.uses.back().bank = static_cast<std::uint32_t>(random() % banks);
    bytes += problem.blocks.back().bytes;
  }
  for (std::size_t i = 0; i + 1 < banks; ++i)
    problem.rooms.push_back({(16 + bytes * (random() % 40) / 100) / 64 * 64, random() % 2 == 0 ? 16U : 64U});
  problem.rooms.push_back({bytes + 64 * count, 64});
  return problem;
}

// Compares all pairs: slow and plain.
void expect_sound(const Problem& problem, const BankPlan& plan) {
  BankCost cost;
  std::vector<std::uint64_t> used(problem.rooms.size());
  for (std::size_t i = 0; i < problem.blocks.size(); ++i) {
    const std::uint32_t bank = plan.banks[i];
    ASSERT_LT(bank, problem.rooms.size());
    if (problem.uses[i].bank != any_bank) {
      EXPECT_EQ(bank, problem.uses[i].bank);
    }
    EXPECT_EQ(plan.offsets[i] % problem.rooms[bank].alignment, 0);
    cost.slow_traffic += problem.uses[i].traffic * bank;
    used[bank] = std::max(used[bank], problem.end(plan, i));
    for (std::size_t j = 0; j < i; ++j) {
      if (plan.banks[j] != bank || !problem.meet_in_time(i, j)) continue;
      EXPECT_TRUE(problem.end(plan, i) <= plan.offsets[j] || problem.end(plan, j) <= plan.offsets[i])
          << i << " and " << j;
    }
  }
  for (std::size_t bank = 0; bank < used.size(); ++bank) {
    cost.bytes += used[bank];
    if (used[bank] > problem.rooms[bank].bytes) cost.excess += used[bank] - problem.rooms[bank].bytes;
  }
  EXPECT_EQ(plan.used, used);
  EXPECT_EQ(plan.cost, cost);
}

TEST(BankPlan, WhatFitsIntoTheFirstBankLiesThereAsWithoutBanks) {
  const std::vector<MemoryBlock> blocks = {{0, 1, 64}, {1, 2, 32}, {2, 3, 64}};
  const std::vector<BlockUse> uses(3, BlockUse{100});
  const std::vector<BankRoom> rooms = {{96}, {1000}};
  const BankPlan plan = plan_banks(blocks, uses, rooms);
  EXPECT_EQ(plan.offsets, plan_memory(blocks).offsets);
  EXPECT_EQ(plan.used, (std::vector<std::uint64_t>{96, 0}));
  EXPECT_EQ(plan.cost.slow_traffic, 0);
}

TEST(BankPlan, TheBlockWithMoreTrafficLiesInTheFastBank) {
  const std::vector<MemoryBlock> blocks = {{0, 5, 64}, {0, 5, 64}};
  const std::vector<BankRoom> rooms = {{64}, {64}};
  EXPECT_EQ(plan_banks(blocks, std::vector<BlockUse>{{128}, {192}}, rooms).banks,
            (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(plan_banks(blocks, std::vector<BlockUse>{{192}, {128}}, rooms).banks,
            (std::vector<std::uint32_t>{0, 1}));
}

// Two small blocks, one after the other, have more traffic than a large one that takes their room.
TEST(BankPlan, ManyShortBlocksShareTheFastBank) {
  const std::vector<MemoryBlock> blocks = {{0, 9, 64}, {0, 3, 48}, {4, 6, 48}, {7, 9, 48}};
  const std::vector<BlockUse> uses = {{200}, {96}, {96}, {96}};
  const std::vector<BankRoom> rooms = {{64}, {1000}};
  EXPECT_EQ(plan_banks(blocks, uses, rooms).banks, (std::vector<std::uint32_t>{1, 0, 0, 0}));
}

TEST(BankPlan, WhatFitsNowhereIsExcess) {
  const std::vector<MemoryBlock> blocks = {{0, 1, 64}, {0, 1, 64}, {0, 1, 64}};
  const std::vector<BankRoom> rooms = {{64}, {96}};
  const BankPlan plan = plan_banks(blocks, std::vector<BlockUse>(3, BlockUse{1}), rooms);
  EXPECT_EQ(plan.cost.excess, 32);
}

TEST(BankPlan, APinIsKeptEvenIfItDoesNotFit) {
  const std::vector<MemoryBlock> blocks = {{0, 1, 64}, {0, 1, 64}};
  const std::vector<BankRoom> rooms = {{96}, {1000}};
  const BankPlan plan = plan_banks(blocks, std::vector<BlockUse>{{1, 0}, {1, 0}}, rooms);
  EXPECT_EQ(plan.banks, (std::vector<std::uint32_t>{0, 0}));
  EXPECT_EQ(plan.cost.excess, 32);
  // A block with more traffic does not take the room of a pin.
  EXPECT_EQ(plan_banks(blocks, std::vector<BlockUse>{{1, 0}, {1000}}, rooms).banks,
            (std::vector<std::uint32_t>{0, 1}));
}

TEST(BankPlan, RandomPlansAreSoundAndLeaveNoBlockThatAFasterBankHasRoomFor) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const Problem problem = random_problem(random, 1 + random() % 60, 2 + random() % 2);
    const BankPlan plan = problem.plan();
    expect_sound(problem, plan);
    for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
      if (problem.uses[i].bank != any_bank) continue;
      for (std::uint32_t bank = 0; bank < plan.banks[i]; ++bank) {
        BankPlan moved = plan;
        moved.banks[i] = bank;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> neighbors;
        for (std::size_t j = 0; j < problem.blocks.size(); ++j) {
          if (j != i && plan.banks[j] == bank && problem.meet_in_time(i, j))
            neighbors.emplace_back(plan.offsets[j], problem.end(plan, j));
        }
        std::ranges::sort(neighbors);
        const std::uint64_t alignment = problem.rooms[bank].alignment;
        const std::uint64_t bytes = (problem.blocks[i].bytes + alignment - 1) / alignment * alignment;
        EXPECT_GT(best_gap(neighbors, bytes) + bytes, problem.rooms[bank].bytes);
      }
    }
  }
}

// The least slow traffic of two banks, by trying all orders of blocks.
std::uint64_t least_slow_traffic(const Problem& problem) {
  std::vector<std::uint32_t> order(problem.blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::uint64_t least = ~std::uint64_t{0};
  do {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> placed;  // in the fast bank
    std::uint64_t slow = 0;
    for (const std::uint32_t block : order) {
      std::vector<std::pair<std::uint64_t, std::uint64_t>> neighbors;
      for (const auto& [other, offset] : placed) {
        if (problem.meet_in_time(block, other))
          neighbors.emplace_back(offset, offset + (problem.blocks[other].bytes + 15) / 16 * 16);
      }
      std::ranges::sort(neighbors);
      const std::uint64_t bytes = (problem.blocks[block].bytes + 15) / 16 * 16;
      const std::uint64_t offset = best_gap(neighbors, bytes);
      if (offset + bytes <= problem.rooms[0].bytes)
        placed.emplace_back(block, offset);
      else
        slow += problem.uses[block].traffic;
    }
    least = std::min(least, slow);
  } while (std::ranges::next_permutation(order).found);
  return least;
}

TEST(BankPlan, SmallPlansAreAsGoodAsTheBestOfAllOrders) {
  std::mt19937 random(2);
  std::uint64_t ours = 0;
  std::uint64_t best = 0;
  for (int round = 0; round < 60; ++round) {
    Problem problem = random_problem(random, 7, 2);
    for (BlockUse& use : problem.uses) use.bank = any_bank;
    problem.rooms[0].alignment = 16;
    ours += problem.plan().cost.slow_traffic;
    best += least_slow_traffic(problem);
  }
  EXPECT_EQ(ours, best);
}

// A chain of many blocks that are all alive at once must not take long.
TEST(BankPlan, ManyBlocksAtOnceTakeFewSteps) {
  Problem problem;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    problem.blocks.push_back({0, 3000, 16 + i % 64});
    problem.uses.push_back({i});
  }
  problem.rooms = {{1 << 16}, {1 << 24}};
  const BankPlan plan = problem.plan();
  EXPECT_EQ(plan.cost.excess, 0);
  EXPECT_GT(plan.used[0], (1 << 16) - 128);
}

}  // namespace
}  // namespace depute
