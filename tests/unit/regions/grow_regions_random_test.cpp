// Region growing against definitions: exhaustive search on tiny graphs, a checker on thousands of random
// ones, and the partitions that torch's own partitioner found on stored graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "regions/grow_regions.h"
#include "tests/unit/regions/grow_regions_testing.h"

namespace depute {
namespace {

using testing::all_modes;
using testing::broken_rule;
using testing::fewest_regions;
using testing::random_graph;

std::uint32_t count_of(const RegionGraph& graph, Support kind) {
  return static_cast<std::uint32_t>(std::ranges::count(graph.support, kind));
}

TEST(RandomRegions, FewestByExhaustiveSearch) {
  int searched = 0;
  for (std::uint32_t seed = 0; searched < 300; ++seed) {
    const RegionGraph graph = random_graph({.nodes = 9 + seed % 3, .window = 6, .inputs = 1.6}, seed);
    if (count_of(graph, Support::Supported) > 9) continue;
    ++searched;
    const std::uint32_t fewest = fewest_regions(graph);
    for (RegionMode mode : all_modes) {
      const RegionPlan plan = grow_regions(graph, {.mode = mode});
      ASSERT_EQ(plan.regions.size(), fewest) << "seed " << seed;
      ASSERT_EQ(plan.fewest_possible, fewest) << "seed " << seed;
    }
  }
}

TEST(RandomRegions, FewestWithNeutralNodesByExhaustiveSearch) {
  int searched = 0;
  for (std::uint32_t seed = 0; searched < 150; ++seed) {
    const RegionGraph graph = random_graph({.nodes = 10, .window = 5, .inputs = 1.6, .neutral = 0.3}, seed);
    if (count_of(graph, Support::Unsupported) < 2 || count_of(graph, Support::Neutral) == 0) continue;
    ++searched;
    const std::uint32_t fewest = fewest_regions(graph);
    for (RegionMode mode : all_modes) {
      ASSERT_EQ(grow_regions(graph, {.mode = mode}).regions.size(), fewest) << "seed " << seed;
    }
  }
}

TEST(RandomRegions, EveryPlanIsValid) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const testing::RandomGraph shape{.nodes = 1 + seed % 150,
                                     .window = 3 + seed % 40,
                                     .inputs = 0.8 + seed % 5 * 0.5,
                                     .unsupported = seed % 11 * 0.09,
                                     .neutral = seed % 4 * 0.15};
    const RegionGraph graph = random_graph(shape, seed);
    for (RegionMode mode : all_modes) {
      for (RegionOptions options :
           {RegionOptions{.mode = mode}, RegionOptions{.mode = mode, .merge_unconnected = false},
            RegionOptions{.mode = mode, .worth = [](auto nodes) { return Worth{nodes.size(), 3}; }},
            RegionOptions{.mode = mode, .min_nodes = 3}, RegionOptions{.mode = mode, .max_nodes = 7},
            RegionOptions{.mode = mode, .merge_unconnected = false, .min_nodes = 2, .max_nodes = 5}}) {
        const RegionPlan plan = grow_regions(graph, options);
        ASSERT_EQ(broken_rule(graph, plan), "") << "seed " << seed << " mode " << static_cast<int>(mode);
        ASSERT_EQ(plan, grow_regions(graph, options)) << "seed " << seed;
        for (std::size_t i = 0; i < plan.regions.size(); ++i)
          ASSERT_LE(plan.regions[i].size(), options.max_nodes);
      }
    }
  }
}

TEST(RandomRegions, LargePlansAreValid) {
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    const RegionGraph graph =
        random_graph({.nodes = 5000, .window = 5000, .inputs = 2, .unsupported = 0.1}, seed);
    for (RegionMode mode : all_modes) ASSERT_EQ(broken_rule(graph, grow_regions(graph, {.mode = mode})), "");
  }
}

TEST(RandomRegions, LevelModesReachTheBoundAndSettlingNeverWidensTheBorder) {
  std::uint64_t settled_total = 0;
  std::uint64_t latest_total = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    RegionGraph graph =
        random_graph({.nodes = 60 + seed % 240, .window = 64, .unsupported = 0.05 + seed % 7 * 0.1}, seed);
    if (seed % 2) {
      for (std::uint32_t node = 0; node < graph.size(); ++node) graph.bytes.push_back(1 + node * 7919 % 1000);
    }
    const RegionPlan settled = grow_regions(graph);
    const RegionPlan latest = grow_regions(graph, {.mode = RegionMode::Fx});
    ASSERT_EQ(settled.regions.size(), settled.fewest_possible);
    ASSERT_EQ(latest.regions.size(), settled.fewest_possible);
    ASSERT_LE(testing::border_of(graph, settled), testing::border_of(graph, latest)) << "seed " << seed;
    settled_total += seed % 2 ? 0 : testing::border_of(graph, settled);
    latest_total += seed % 2 ? 0 : testing::border_of(graph, latest);
  }
  EXPECT_LT(static_cast<double>(settled_total), 0.9 * static_cast<double>(latest_total));
}

TEST(RandomRegions, CountDoesNotDependOnTheOrderOfTheNodes) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const RegionGraph graph = random_graph({.nodes = 300, .window = 50}, seed);
    const std::size_t expected = grow_regions(graph).regions.size();
    for (std::uint32_t shuffle = 0; shuffle < 20; ++shuffle) {
      const RegionGraph other = testing::shuffled(graph, shuffle);
      const RegionPlan plan = grow_regions(other);
      ASSERT_EQ(plan.regions.size(), expected);
      ASSERT_EQ(broken_rule(other, plan), "");
    }
  }
}

// Latest labels by definition: the number of color changes that can still follow a node, the longest way.
TEST(RandomRegions, FxModeIsTheLatestLabeling) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const RegionGraph graph = random_graph({.nodes = 10 + seed % 200, .window = 30}, seed);
    const auto supported = [&](std::uint32_t node) { return graph.support[node] == Support::Supported; };
    std::vector<std::uint32_t> changes(graph.size(), 0);
    for (std::uint32_t node = 0; node < graph.size(); ++node) changes[node] = supported(node) ? 1 : 0;
    for (std::uint32_t node = graph.size(); node-- > 0;) {
      for (std::uint32_t pred : graph.preds[node]) {
        changes[pred] = std::max(changes[pred], changes[node] + (supported(pred) == supported(node) ? 0 : 1));
      }
    }
    const RegionPlan plan = grow_regions(graph, {.mode = RegionMode::Fx});
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      if (!supported(node)) continue;
      ASSERT_EQ(plan.region_of[node], plan.regions.size() - (changes[node] + 1) / 2) << "seed " << seed;
    }
  }
}

// Stored by make_fx_partitions.py: words "U0.3" (unsupported, reads 0 and 3) and "12=7" (in torch's partition
// 12, reads 7).
TEST(RandomRegions, FxModeFindsTorchsPartitions) {
  std::ifstream file("tests/unit/regions/fx_partitions.txt");
  int graphs = 0;
  for (std::string line; std::getline(file, line); ++graphs) {
    RegionGraph graph;
    std::vector<int> torch_partition;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const std::size_t sign = word.find('=');
      std::vector<std::uint32_t> inputs;
      std::istringstream numbers(word.substr(sign == std::string::npos ? 1 : sign + 1));
      for (std::string number; std::getline(numbers, number, '.');)
        inputs.push_back(static_cast<std::uint32_t>(std::stoul(number)));
      graph.add_node(sign == std::string::npos ? Support::Unsupported : Support::Supported, inputs);
      torch_partition.push_back(sign == std::string::npos ? -1 : std::stoi(word.substr(0, sign)));
    }
    const RegionPlan plan = grow_regions(graph, {.mode = RegionMode::Fx});
    std::map<int, std::uint32_t> same{{-1, no_region}};
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      const std::uint32_t region =
          same.try_emplace(torch_partition[node], plan.region_of[node]).first->second;
      ASSERT_EQ(plan.region_of[node], region) << "graph " << graphs << " node " << node;
    }
    ASSERT_EQ(plan.regions.size(), same.size() - 1);
  }
  EXPECT_EQ(graphs, 60);
}

// Refusing islands takes support away; labels made anew must not let the remaining regions need each other.
TEST(RandomRegions, RefusalLeavesNoSmallIsland) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const RegionGraph graph = random_graph({.nodes = 120, .window = 12, .unsupported = 0.25}, seed);
    for (RegionMode mode : all_modes) {
      const RegionPlan plan = grow_regions(graph, {.mode = mode, .merge_unconnected = false, .min_nodes = 4});
      ASSERT_EQ(broken_rule(graph, plan), "") << "seed " << seed;
      for (std::size_t i = 0; i < plan.regions.size(); ++i) ASSERT_GE(plan.regions[i].size(), 4U);
    }
  }
}

}  // namespace
}  // namespace depute
