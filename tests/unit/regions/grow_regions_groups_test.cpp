// Groups: kept whole where that is possible, merged where they need each other, dissolved with a path where
// not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "regions/grow_regions.h"
#include "tests/unit/regions/grow_regions_testing.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using testing::grow_valid;
using ::testing::IsEmpty;
using testing::S;
using ::testing::SizeIs;
using testing::U;

// A quantized convolution is placed as a whole although its ends are not supported alone.
TEST(GroupedRegions, AGroupIsSupportedWhateverItsNodesAreAlone) {
  RegionGraph graph;
  graph.add_node(U, {});
  graph.add_node(S, {0});
  graph.add_node(U, {1});
  EXPECT_THAT(grow_valid(graph).region_of, ElementsAre(no_region, 0, no_region));
  graph.add_group({0, 1, 2});
  EXPECT_THAT(grow_valid(graph).region_of, ElementsAre(0, 0, 0));
}

TEST(GroupedRegions, AGroupAroundAnUnsupportedNodeIsDissolvedWithThePath) {
  RegionGraph graph;
  graph.add_node(S, {});
  graph.add_node(U, {0});
  graph.add_node(S, {1, 0});
  graph.add_group({0, 2});
  const RegionPlan plan = grow_valid(graph);
  ASSERT_THAT(plan.dissolved, SizeIs(1));
  EXPECT_EQ(plan.dissolved[0].group, 0U);
  EXPECT_EQ(plan.dissolved[0].enclosed, 1U);
  EXPECT_THAT(plan.dissolved[0].path, ElementsAre(0, 1, 2));
  EXPECT_EQ(plan.regions.size(), 0U);
  EXPECT_EQ(plan.placement[0], NodeOutcome::Unsupported);
}

// 0 -> 1 and 2 -> 3 with groups {0 3} and {1 2}: each needs the other, so both become one unit.
TEST(GroupedRegions, GroupsThatNeedEachOtherAreMerged) {
  RegionGraph graph;
  graph.add_node(S, {});
  graph.add_node(S, {0});
  graph.add_node(S, {});
  graph.add_node(S, {2});
  graph.add_group({0, 3});
  graph.add_group({1, 2});
  const RegionPlan plan = grow_valid(graph);
  EXPECT_THAT(plan.dissolved, IsEmpty());
  EXPECT_THAT(plan.region_of, ElementsAre(0, 0, 0, 0));
}

// Through unsupported nodes: 0 -> U1 -> 2 and 3 -> U4 -> 5 with groups {0 5} and {2 3}. One of them has to
// go, the later.
TEST(GroupedRegions, GroupsThatInterleaveLoseTheLaterOne) {
  RegionGraph graph;
  graph.add_node(S, {});
  graph.add_node(U, {0});
  graph.add_node(S, {1});
  graph.add_node(S, {});
  graph.add_node(U, {3});
  graph.add_node(S, {4});
  graph.add_group({0, 5});
  graph.add_group({2, 3});
  const RegionPlan plan = grow_valid(graph);
  ASSERT_THAT(plan.dissolved, SizeIs(1));
  EXPECT_EQ(plan.dissolved[0].group, 1U);
  EXPECT_THAT(plan.dissolved[0].path, ElementsAre(3, 4, 5, 0, 1, 2));
  EXPECT_EQ(plan.region_of[0], plan.region_of[5]);
}

// 0 -> U1 -> 2 -> 3 -> 4 -> 5: the first group encloses node 1 and the second lies on the same circle.
// Halving takes the second away first; it comes back once the first turns out to be impossible.
TEST(GroupedRegions, AnInnocentGroupComesBack) {
  RegionGraph graph;
  graph.add_node(S, {});
  for (std::uint32_t i = 0; i < 5; ++i) graph.add_node(i == 0 ? U : S, {i});
  graph.add_group({0, 5});
  graph.add_group({2, 4});
  const RegionPlan plan = grow_valid(graph);
  ASSERT_THAT(plan.dissolved, SizeIs(1));
  EXPECT_EQ(plan.dissolved[0].group, 0U);
  EXPECT_THAT(plan.dissolved[0].path, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(GroupedRegions, OverlappingGroupsStayTogether) {
  RegionGraph graph;
  for (std::uint32_t i = 0; i < 3; ++i) graph.add_node(S, {});
  graph.add_group({0, 1});
  graph.add_group({1, 2});
  EXPECT_EQ(grow_valid(graph, {.merge_unconnected = false}).regions.size(), 1U);
}

TEST(GroupedRegions, EmptyAndSingleGroups) {
  RegionGraph graph;
  graph.add_node(U, {});
  graph.add_node(S, {0});
  graph.add_group({});
  graph.add_group({0});
  EXPECT_THAT(grow_valid(graph).region_of, ElementsAre(0, 0));
}

TEST(GroupedRegions, AGroupLargerThanTheLimitStaysWhole) {
  RegionGraph graph;
  graph.add_node(S, {});
  for (std::uint32_t i = 0; i < 5; ++i) graph.add_node(S, {i});
  graph.add_group({1, 2, 3});
  EXPECT_THAT(grow_valid(graph, {.max_nodes = 2}).region_of, ElementsAre(0, 1, 1, 1, 2, 2));
}

TEST(GroupedRegions, ALongPathLeavesOutItsMiddle) {
  RegionGraph graph;
  graph.add_node(S, {});
  for (std::uint32_t i = 0; i < 1000; ++i) graph.add_node(i == 500 ? U : S, {i});
  graph.add_group({0, 1000});
  const RegionPlan plan = grow_valid(graph);
  ASSERT_THAT(plan.dissolved, SizeIs(1));
  EXPECT_EQ(plan.dissolved[0].enclosed, 501U);
  EXPECT_EQ(plan.dissolved[0].path.size(), 64U);
  EXPECT_EQ(plan.dissolved[0].path.front(), 0U);
  EXPECT_EQ(plan.dissolved[0].path.back(), 1000U);
}

// The groups of GroupsThatNeedEachOtherAreMerged, each to be a region of its own: one of them has to go.
TEST(GroupedRegions, GroupsThatNeedEachOtherCannotBothStandApart) {
  RegionGraph graph;
  graph.add_node(S, {});
  graph.add_node(S, {0});
  graph.add_node(S, {});
  graph.add_node(S, {2});
  graph.add_group({0, 3});
  graph.add_group({1, 2});
  const RegionPlan plan = grow_valid(graph, {.mode = RegionMode::Apart});
  EXPECT_THAT(plan.region_of, ElementsAre(0, no_region, no_region, 0));
  ASSERT_THAT(plan.dissolved, SizeIs(1));
  EXPECT_THAT(plan.dissolved[0].path, ElementsAre(2, 3, 0, 1));
}

// 0 -> 1 -> 2 with group {0 2}: 1 is a region of its own, so the group cannot be one.
TEST(GroupedRegions, AGroupApartDoesNotTakeInWhatLiesBetween) {
  RegionGraph graph;
  graph.add_node(S, {});
  graph.add_node(S, {0});
  graph.add_node(S, {1});
  graph.add_group({0, 2});
  EXPECT_THAT(grow_valid(graph).region_of, ElementsAre(0, 0, 0));
  const RegionPlan plan = grow_valid(graph, {.mode = RegionMode::Apart});
  EXPECT_THAT(plan.region_of, ElementsAre(no_region, 0, no_region));
  ASSERT_THAT(plan.dissolved, SizeIs(1));
  EXPECT_EQ(plan.dissolved[0].enclosed, 1U);
}

TEST(GroupedRegions, RandomGroupsNeverCloseACircle) {
  std::size_t dissolved = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    const testing::RandomGraph shape{
        .nodes = 10 + seed % 60, .neutral = seed % 3 * 0.2, .groups = 1 + seed % 12};
    const RegionGraph graph = testing::random_graph(shape, seed);
    for (RegionMode mode : {RegionMode::Settled, RegionMode::Fx, RegionMode::Apart}) {
      for (std::uint32_t min_nodes : {1U, 3U}) {
        const RegionOptions options{.mode = mode, .min_nodes = min_nodes};
        const RegionPlan plan = grow_regions(graph, options);
        ASSERT_EQ(testing::broken_rule(graph, plan), "") << "seed " << seed;
        ASSERT_EQ(plan, grow_regions(graph, options));
        dissolved += plan.dissolved.size();
      }
    }
  }
  EXPECT_GT(dissolved, 1000U);
}

// Each dissolved group's path really leaves the group and returns: it starts and ends in it and passes the
// enclosed node.
TEST(GroupedRegions, ReasonsArePaths) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const RegionGraph graph = testing::random_graph({.nodes = 40, .groups = 8}, seed);
    const RegionPlan plan = grow_regions(graph);
    for (const DissolvedGroup& d : plan.dissolved) {
      const bool is_of_a_group =
          std::ranges::find(graph.groups.items, d.enclosed) != graph.groups.items.end();
      EXPECT_TRUE(graph.support[d.enclosed] == U || is_of_a_group);
      EXPECT_THAT(d.path, ::testing::Contains(d.enclosed));
      EXPECT_THAT(d.path, SizeIs(::testing::Ge(3U)));
    }
  }
}

}  // namespace
}  // namespace depute
