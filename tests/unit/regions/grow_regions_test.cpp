// Region growing on small graphs whose answer can be seen, and on the borderline ones: empty, huge, all of
// one kind.
#include "regions/grow_regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/regions/grow_regions_testing.h"

namespace depute {
namespace {

using testing::all_modes;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::grow_valid;
using ::testing::IsEmpty;
using testing::N;
using testing::S;
using testing::U;
using Rows = std::vector<std::vector<std::uint32_t>>;

Rows rows(const Csr& regions) {
  Rows result;
  for (std::size_t i = 0; i < regions.size(); ++i) result.emplace_back(regions[i].begin(), regions[i].end());
  return result;
}

RegionGraph chain(const std::vector<Support>& kinds) {
  RegionGraph graph;
  for (std::uint32_t node = 0; node < kinds.size(); ++node) {
    if (node == 0) {
      graph.add_node(kinds[node], {});
    } else {
      graph.add_node(kinds[node], {node - 1});
    }
  }
  return graph;
}

TEST(GrowRegions, EmptyGraph) {
  for (RegionMode mode : all_modes) {
    const RegionPlan plan = grow_valid(RegionGraph{}, {.mode = mode});
    EXPECT_EQ(plan.regions.size(), 0U);
    EXPECT_EQ(plan.fewest_possible, 0U);
  }
}

TEST(GrowRegions, AllSupportedIsOneRegion) {
  for (RegionMode mode : all_modes)
    EXPECT_THAT(rows(grow_valid(chain({S, S, S}), {.mode = mode}).regions),
                ElementsAre(std::vector{0U, 1U, 2U}));
}

TEST(GrowRegions, AllUnsupportedIsNone) {
  for (RegionMode mode : all_modes) {
    const RegionPlan plan = grow_valid(chain({U, U, U}), {.mode = mode});
    EXPECT_EQ(plan.regions.size(), 0U);
    EXPECT_THAT(plan.region_of, Each(no_region));
    EXPECT_THAT(plan.placement, Each(NodeOutcome::Unsupported));
    EXPECT_THAT(plan.witness, IsEmpty());
  }
}

TEST(GrowRegions, IsolatedNodesShareARegionUnlessPiecesAreWanted) {
  RegionGraph graph;
  for (int i = 0; i < 3; ++i) graph.add_node(S, {});
  EXPECT_EQ(grow_valid(graph).regions.size(), 1U);
  EXPECT_EQ(grow_valid(graph, {.merge_unconnected = false}).regions.size(), 3U);
}

TEST(GrowRegions, UnsupportedNodeInAChainPartsIt) {
  for (RegionMode mode : all_modes) {
    const RegionPlan plan = grow_valid(chain({S, S, U, S}), {.mode = mode});
    EXPECT_EQ(rows(plan.regions), (Rows{{0, 1}, {3}}));
    EXPECT_THAT(plan.witness, ElementsAre(0, 1, 2, 3));
  }
}

// a -> b -> tan -> c, a -> d: d settles beside its input, latest labels put it beside c.
TEST(GrowRegions, FreeNodesSettleWhereFewerValuesCross) {
  RegionGraph graph = chain({S, S, U, S});
  graph.add_node(S, {0});
  graph.outputs = {3, 4};
  const RegionPlan settled = grow_valid(graph);
  const RegionPlan latest = grow_valid(graph, {.mode = RegionMode::Fx});
  EXPECT_EQ(rows(settled.regions), (Rows{{0, 1, 4}, {3}}));
  EXPECT_EQ(rows(latest.regions), (Rows{{0, 1}, {3, 4}}));
  EXPECT_EQ(testing::border_of(graph, settled), 4U);
  EXPECT_EQ(testing::border_of(graph, latest), 6U);
}

// d could stay beside a or join c: bytes decide which of its two inputs crosses.
TEST(GrowRegions, LargeValuesStayInside) {
  RegionGraph graph = chain({S, U, S});
  const std::uint32_t joined = graph.add_node(S, {0});
  graph.add_node(S, {joined, 2});
  graph.bytes = {1, 1, 1, 100, 1};
  EXPECT_EQ(grow_valid(graph).region_of[joined], 1U);
  graph.bytes = {100, 1, 1, 1, 1};
  EXPECT_EQ(grow_valid(graph).region_of[joined], 0U);
}

// Growing by edges once gave {0 2 7} and {3 4 5} here, which need each other: 0 -> 1 -> 4 and 5 -> 6 -> 7.
TEST(GrowRegions, RegionsThatWouldNeedEachOther) {
  RegionGraph graph;
  graph.add_node(S, {});
  graph.add_node(U, {0});
  graph.add_node(S, {0});
  graph.add_node(S, {});
  graph.add_node(S, {1, 3});
  graph.add_node(S, {3, 4});
  graph.add_node(U, {5});
  graph.add_node(S, {2, 6});
  for (RegionMode mode : all_modes) {
    const RegionPlan plan = grow_valid(graph, {.mode = mode});
    EXPECT_EQ(plan.regions.size(), 3U);
    EXPECT_EQ(plan.fewest_possible, 3U);
  }
}

TEST(GrowRegions, NeutralNodesBridgeAndAreTrimmed) {
  for (RegionMode mode : all_modes) {
    const RegionPlan plan = grow_valid(chain({U, N, S, N, S, N, N, U}), {.mode = mode});
    EXPECT_EQ(rows(plan.regions), (Rows{{2, 3, 4}}));
    for (std::uint32_t node : {1, 5, 6}) EXPECT_EQ(plan.placement[node], NodeOutcome::Neutral);
  }
}

TEST(GrowRegions, NeutralNodesAloneAreNoRegion) {
  for (RegionMode mode : all_modes)
    EXPECT_EQ(grow_valid(chain({N, N, U, N}), {.mode = mode}).regions.size(), 0U);
}

TEST(GrowRegions, SmallIslandsAreRefusedWithTheirSize) {
  // 4 hides beside 0 and 1 in one region, yet it is a piece of its own.
  RegionGraph graph = chain({S, S, U, S});
  graph.add_node(S, {});
  const RegionPlan plan = grow_valid(graph, {.min_nodes = 2});
  EXPECT_EQ(rows(plan.regions), (Rows{{0, 1}}));
  EXPECT_EQ(plan.placement[3], NodeOutcome::TooSmall);
  EXPECT_EQ(plan.placement[4], NodeOutcome::TooSmall);
  EXPECT_THAT(plan.refused_island_of, ElementsAre(no_region, no_region, no_region, 0, 1));
  EXPECT_EQ(plan.refused_islands[1].supported_nodes, 1U);
  EXPECT_EQ(plan.fewest_possible, 1U);
}

// The refused node no longer forces a region of its own between the others.
TEST(GrowRegions, RefusalMakesNewLabels) {
  RegionGraph graph = chain({S, U, S, U});
  graph.add_node(S, {3});
  graph.add_node(S, {4});
  graph.add_node(S, {});
  graph.add_node(S, {6});
  graph.add_node(S, {7, 2});
  EXPECT_EQ(grow_valid(graph).regions.size(), 3U);
  const RegionPlan plan = grow_valid(graph, {.min_nodes = 2});
  EXPECT_EQ(plan.placement[0], NodeOutcome::TooSmall);
  EXPECT_EQ(plan.fewest_possible, plan.regions.size());
}

// Three nodes are worth a delegate, two are not: the small piece goes although it shares the large one's
// region.
TEST(GrowRegions, IslandsThatCostMoreThanTheyGainAreRefused) {
  RegionGraph graph = chain({S, S, S});
  graph.add_node(S, {});
  graph.add_node(S, {3});
  std::vector<std::vector<std::uint32_t>> asked;
  const auto worth = [&](std::span<const std::uint32_t> nodes) {
    asked.emplace_back(nodes.begin(), nodes.end());
    return Worth{.gain = nodes.size(), .cost = 3};
  };
  const RegionPlan plan = grow_valid(graph, {.worth = worth});
  EXPECT_EQ(rows(plan.regions), (Rows{{0, 1, 2}}));
  EXPECT_EQ(asked, (Rows{{0, 1, 2}, {3, 4}, {0, 1, 2}}));
  EXPECT_EQ(plan.placement[3], NodeOutcome::NotWorth);
  ASSERT_EQ(plan.refused_islands.size(), 1U);
  EXPECT_EQ(plan.refused_islands[0].worth, (Worth{2, 3}));
  EXPECT_THAT(plan.refused_island_of, ElementsAre(no_region, no_region, no_region, 0, 0));
}

TEST(GrowRegions, NothingIsAskedAgainWhenAllIsRefused) {
  int rounds = 0;
  const auto worth = [&](std::span<const std::uint32_t> nodes) {
    if (nodes.front() == 0) ++rounds;
    return Worth{.gain = 0, .cost = 1};
  };
  EXPECT_EQ(grow_valid(chain({S, S}), {.worth = worth}).regions.size(), 0U);
  EXPECT_EQ(rounds, 1);
}

TEST(GrowRegions, ApartIsARegionForEachNode) {
  const RegionPlan plan = grow_valid(chain({S, S, N, U, S}), {.mode = RegionMode::Apart});
  EXPECT_EQ(rows(plan.regions), (Rows{{0}, {1}, {4}}));
}

TEST(GrowRegions, LargeRegionsAreCutWhereFewValuesLive) {
  // 0 -> {1, 2, 3} -> 4 -> ... -> 7: of the places 3 and 4 before the limit of four... the fan is closed only
  // by 4.
  RegionGraph graph;
  graph.add_node(S, {});
  for (int i = 0; i < 3; ++i) graph.add_node(S, {0});
  graph.add_node(S, {1, 2, 3});
  for (std::uint32_t i = 4; i < 9; ++i) graph.add_node(S, {i});
  EXPECT_EQ(rows(grow_valid(graph, {.max_nodes = 6}).regions), (Rows{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9}}));
  EXPECT_EQ(rows(grow_valid(graph, {.max_nodes = 5}).regions), (Rows{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}}));
  EXPECT_EQ(grow_valid(graph, {.max_nodes = 1}).regions.size(), 10U);
  EXPECT_EQ(grow_valid(graph, {.max_nodes = 10}).regions.size(), 1U);
}

TEST(GrowRegions, CutsPreferFewLiveValuesToLongRuns) {
  // 0 -> 1 -> 2, then 2 -> {3, 4} -> 5: after 2 one value is alive, after 3 two are.
  RegionGraph graph = chain({S, S, S});
  graph.add_node(S, {2});
  graph.add_node(S, {2});
  graph.add_node(S, {3, 4});
  EXPECT_EQ(rows(grow_valid(graph, {.max_nodes = 4}).regions), (Rows{{0, 1, 2}, {3, 4, 5}}));
}

TEST(GrowRegions, MillionNodesInAChain) {
  std::vector<Support> kinds(1'000'000, S);
  for (std::size_t i = 1; i < kinds.size(); i += 2) kinds[i] = U;
  const RegionGraph graph = chain(kinds);
  for (RegionMode mode : all_modes) EXPECT_EQ(grow_regions(graph, {.mode = mode}).regions.size(), 500'000U);
}

TEST(GrowRegions, MillionNodesInOneRegion) {
  const RegionGraph graph = chain(std::vector<Support>(1'000'000, S));
  for (RegionMode mode : all_modes) EXPECT_EQ(grow_regions(graph, {.mode = mode}).regions.size(), 1U);
}

}  // namespace
}  // namespace depute
