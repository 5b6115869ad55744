#include "plan/memory/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace depute {
namespace {

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + block_alignment - 1) / block_alignment * block_alignment;
}

// Compares all pairs: slow and plain.
void expect_sound(const std::vector<MemoryBlock>& blocks, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % block_alignment, 0);
    EXPECT_LE(plan.offsets[i] + padded(blocks[i].bytes), plan.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      bool meet_in_time = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
      bool meet_in_space = plan.offsets[i] < plan.offsets[j] + padded(blocks[j].bytes) &&
                           plan.offsets[j] < plan.offsets[i] + padded(blocks[i].bytes);
      EXPECT_FALSE(meet_in_time && meet_in_space && blocks[i].bytes > 0 && blocks[j].bytes > 0)
          << i << " and " << j;
    }
  }
}

TEST(MemoryPlan, NothingNeedsNothing) {
  EXPECT_EQ(plan_memory({}).bytes, 0);
  EXPECT_EQ(plan_memory(std::vector<MemoryBlock>{{0, 5, 0}}).bytes, 0);
}

TEST(MemoryPlan, BlocksWithDisjointLivesShareMemory) {
  std::vector<MemoryBlock> blocks = {{0, 1, 64}, {1, 2, 32}, {2, 3, 64}};
  MemoryPlan plan = plan_memory(blocks);
  EXPECT_EQ(plan.bytes, 96);
  EXPECT_EQ(plan.offsets, (std::vector<std::uint64_t>{0, 64, 0}));
}

TEST(MemoryPlan, SizesAreRoundedUp) {
  EXPECT_EQ(plan_memory(std::vector<MemoryBlock>{{0, 1, 1}, {0, 1, 17}}).bytes, 48);
}

TEST(MemoryPlan, BlocksThatTouchInTimeDoNotShare) {
  EXPECT_EQ(plan_memory(std::vector<MemoryBlock>{{0, 1, 16}, {1, 2, 16}}).bytes, 32);
}

TEST(MemoryPlan, RandomBlocksAreSoundAndNearThePeak) {
  std::mt19937 random(1);
  double worst = 1;
  std::uint64_t total = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<MemoryBlock> blocks;
    auto count = 1 + random() % 60;
    for (std::size_t i = 0; i < count; ++i) {
      auto first = static_cast<std::uint32_t>(random() % 100);
      blocks.push_back(
          {first, first + static_cast<std::uint32_t>(random() % 20), random() % 4 * (random() % 5000)});
    }
    MemoryPlan plan = plan_memory(blocks);
    expect_sound(blocks, plan);
    EXPECT_GE(plan.bytes, peak_bytes(blocks));
    total += plan.bytes;
    if (peak_bytes(blocks) > 0) {
      worst = std::max(worst, static_cast<double>(plan.bytes) / static_cast<double>(peak_bytes(blocks)));
    }
  }
  EXPECT_LE(worst, 1.35);
  EXPECT_LE(total, 6'495'168);  // what they take today: each way of packing is the best for some
}

// A chain: two blocks are alive at any time.
TEST(MemoryPlan, LongChainIsPackedNearItsPeak) {
  std::vector<MemoryBlock> blocks;
  for (std::uint32_t i = 0; i < 50'000; ++i) blocks.push_back({i, i + 1, 1000 + i % 7 * 100});
  EXPECT_LE(plan_memory(blocks).bytes, peak_bytes(blocks) * 11 / 10);
}

// All alive at once: the packings that compare blocks pairwise must give up, not take hours.
TEST(MemoryPlan, ManyBlocksAliveAtOnce) {
  std::vector<MemoryBlock> blocks;
  for (std::uint32_t i = 0; i < 30'000; ++i) blocks.push_back({i, 60'000, 64});
  EXPECT_EQ(plan_memory(blocks).bytes, 64 * blocks.size());
}

TEST(MemoryPlan, PlansAreEqualForEqualBlocks) {
  std::vector<MemoryBlock> blocks;
  for (std::uint32_t i = 0; i < 500; ++i) blocks.push_back({i % 50, i % 50 + i % 13, i % 11 * 48});
  EXPECT_EQ(plan_memory(blocks).offsets, plan_memory(blocks).offsets);
}

}  // namespace
}  // namespace depute
