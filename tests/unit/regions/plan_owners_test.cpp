// Several owners on one graph: small cases that can be seen, and rules that hold on random ones.
#include "regions/plan_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/regions/grow_regions_testing.h"

namespace depute {
namespace {

using ::testing::ElementsAre;

constexpr Support S = Support::Supported;
constexpr Support U = Support::Unsupported;
constexpr Support N = Support::Neutral;
constexpr Sharing all_sharings[] = {Sharing::Best, Sharing::InOrder, Sharing::OnePass};

RegionGraph chain(std::uint32_t nodes) {
  RegionGraph graph;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    if (node == 0) {
      graph.add_node(U, {});
    } else {
      graph.add_node(U, {node - 1});
    }
  }
  return graph;
}

OwnerQuestion asks(std::vector<Support> support, RegionOptions options = {}) {
  return {.support = std::move(support), .groups = {}, .options = std::move(options)};
}

bool is_dissolved(const OwnerAnswer& answer, std::uint32_t group) {
  return std::ranges::find(answer.dissolved, group, &DissolvedGroup::group) != answer.dissolved.end();
}

bool is_refused(Placement placement) {
  return placement == Placement::TooSmall || placement == Placement::NotWorth;
}

// Whether some owner should have taken a node that is in no region.
bool is_forgotten(const OwnersPlan& plan, std::span<const OwnerQuestion> owners, std::uint32_t node) {
  const auto refuses = [&](const OwnerAnswer& answer) { return is_refused(answer.placement[node]); };
  if (std::ranges::any_of(plan.owners, refuses)) return false;  // rounds are limited
  for (std::uint32_t owner = 0; owner < owners.size(); ++owner) {
    if (owners[owner].support[node] != S) continue;
    bool in_dissolved = false;
    for (std::uint32_t group = 0; group < owners[owner].groups.size(); ++group) {
      const auto nodes = owners[owner].groups[group];
      in_dissolved |=
          is_dissolved(plan.owners[owner], group) && std::ranges::find(nodes, node) != nodes.end();
    }
    if (!in_dissolved) return true;
  }
  return false;
}

// Why a region may not have a node, or "".
std::string wrong_owner(const OwnersPlan& plan, std::span<const OwnerQuestion> owners, std::uint32_t node) {
  const std::uint32_t owner = plan.owner_of[plan.region_of[node]];
  if (plan.owners[owner].placement[node] != Placement::InRegion) return "placement";
  if (owners[owner].support[node] != U) return "";
  for (std::uint32_t group = 0; group < owners[owner].groups.size(); ++group) {
    const auto nodes = owners[owner].groups[group];
    if (!is_dissolved(plan.owners[owner], group) && std::ranges::find(nodes, node) != nodes.end()) return "";
  }
  return "its owner does not take it";
}

// The first broken rule of a valid plan, or "".
std::string broken_rule(const RegionGraph& graph, const OwnersPlan& plan,
                        std::span<const OwnerQuestion> owners) {
  if (plan.owners.size() != owners.size()) return "owners";
  if (plan.owner_of.size() != plan.regions.size()) return "owners of regions";
  if (!testing::is_acyclic(graph, plan.region_of)) return "regions depend on each other in a circle";
  std::size_t placed = 0;
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    const std::string name = "node " + std::to_string(node) + ": ";
    if (plan.region_of[node] == no_region) {
      if (is_forgotten(plan, owners, node)) return name + "left out";
      continue;
    }
    ++placed;
    if (std::string wrong = wrong_owner(plan, owners, node); !wrong.empty()) return name + wrong;
    for (std::uint32_t pred : graph.preds[node]) {
      if (plan.region_of[pred] != no_region && plan.region_of[pred] > plan.region_of[node])
        return "numbers fall";
    }
  }
  if (placed != plan.regions.items.size()) return "rows do not match region_of";
  for (std::uint32_t region = 0; region < plan.regions.size(); ++region) {
    if (plan.regions[region].empty()) return "empty region";
    if (!std::ranges::is_sorted(plan.regions[region])) return "nodes out of order";
    for (std::uint32_t node : plan.regions[region]) {
      if (plan.region_of[node] != region) return "rows do not match region_of";
    }
  }
  for (std::uint32_t owner = 0; owner < owners.size(); ++owner) {
    for (std::uint32_t group = 0; group < owners[owner].groups.size(); ++group) {
      const auto nodes = owners[owner].groups[group];
      if (nodes.empty() || is_dissolved(plan.owners[owner], group)) continue;
      if (is_refused(plan.owners[owner].placement[nodes.front()])) continue;
      for (std::uint32_t node : nodes) {
        if (plan.region_of[node] != plan.region_of[nodes.front()]) return "a kept group is torn";
      }
    }
  }
  return "";
}

OwnersPlan plan(const RegionGraph& graph, const std::vector<OwnerQuestion>& owners, Sharing sharing) {
  OwnersPlan result = plan_owners(graph, owners, sharing);
  EXPECT_EQ(broken_rule(graph, result, owners), "");
  return result;
}

TEST(PlanOwners, TheFirstThatCanTakesANode) {
  for (Sharing sharing : all_sharings) {
    const OwnersPlan result = plan(chain(4), {asks({S, U, U, S}), asks({U, S, S, S})}, sharing);
    EXPECT_THAT(result.region_of, ElementsAre(0, 1, 1, 2));
    EXPECT_THAT(result.owner_of, ElementsAre(0, 1, 0));
  }
}

TEST(PlanOwners, OneOwnerAndNone) {
  for (Sharing sharing : all_sharings) {
    EXPECT_THAT(plan(chain(3), {asks({S, U, S})}, sharing).owner_of, ElementsAre(0, 0));
    EXPECT_TRUE(plan(chain(3), {asks({U, U, U}), asks({U, U, U})}, sharing).owner_of.empty());
    EXPECT_TRUE(plan(RegionGraph{}, {asks({}), asks({})}, sharing).owner_of.empty());
  }
}

// A view that both take where useful bridges whichever owner is around it.
TEST(PlanOwners, NeutralNodesJoinTheOwnerAroundThem) {
  for (Sharing sharing : all_sharings) {
    const OwnersPlan result =
        plan(chain(7), {asks({S, N, S, N, U, N, U}), asks({U, N, U, N, S, N, S})}, sharing);
    EXPECT_THAT(result.region_of, ElementsAre(0, 0, 0, no_region, 1, 1, 1));
    EXPECT_THAT(result.owner_of, ElementsAre(0, 1));
  }
}

// A view that the second owner would take stays within the first one's region, where it is useful.
TEST(PlanOwners, ANodeJoinsAnotherOwnersRegionWhereItIsNeutral) {
  for (Sharing sharing : all_sharings) {
    const OwnersPlan result = plan(chain(3), {asks({S, N, S}), asks({U, S, U})}, sharing);
    EXPECT_THAT(result.region_of, ElementsAre(0, 0, 0));
  }
}

// Alone it is no use to the first owner, so the second gets it.
TEST(PlanOwners, ANeutralNodeWithoutUseGoesToTheNextOwner) {
  for (Sharing sharing : all_sharings) {
    const OwnersPlan result = plan(chain(2), {asks({N, U}), asks({S, U})}, sharing);
    EXPECT_THAT(result.owner_of, ElementsAre(1));
  }
}

TEST(PlanOwners, WhatIsTooSmallForOneGoesToTheNext) {
  for (Sharing sharing : all_sharings) {
    const OwnersPlan result =
        plan(chain(4), {asks({S, U, S, S}, {.min_nodes = 2}), asks({S, S, U, U})}, sharing);
    EXPECT_THAT(result.region_of, ElementsAre(0, 0, 1, 1));
    EXPECT_THAT(result.owner_of, ElementsAre(1, 0));
    EXPECT_EQ(result.owners[0].placement[0], Placement::TooSmall);
  }
}

TEST(PlanOwners, AGroupWhoseNodeAnEarlierOwnerTookIsDissolved) {
  OwnerQuestion second = asks({U, U, S});
  second.groups.add_row(std::vector{1U, 2U});
  for (Sharing sharing : all_sharings) {
    const OwnersPlan result = plan(chain(3), {asks({U, S, U}), second}, sharing);
    EXPECT_THAT(result.region_of, ElementsAre(no_region, 0, no_region));
    ASSERT_EQ(result.owners[1].dissolved.size(), 1U);
    EXPECT_EQ(result.owners[1].dissolved[0].enclosed, 1U);
  }
}

// 0 -> 1 and 2 -> 3, with {0 3} the first owner's group and {1 2} the second's: they would need each other.
TEST(PlanOwners, GroupsOfTwoOwnersDoNotCloseACircle) {
  RegionGraph graph;
  graph.add_node(U, {});
  graph.add_node(U, {0});
  graph.add_node(U, {});
  graph.add_node(U, {2});
  OwnerQuestion first = asks({U, U, U, U});
  first.groups.add_row(std::vector{0U, 3U});
  OwnerQuestion second = asks({U, U, U, U});
  second.groups.add_row(std::vector{1U, 2U});
  for (Sharing sharing : all_sharings) {
    const OwnersPlan result = plan(graph, {first, second}, sharing);
    EXPECT_THAT(result.region_of, ElementsAre(0, no_region, no_region, 0));
    EXPECT_EQ(result.owners[1].dissolved.size(), 1U);
  }
}

TEST(PlanOwners, LimitsAreThoseOfTheOwner) {
  for (Sharing sharing : all_sharings) {
    const OwnersPlan result =
        plan(chain(6), {asks({S, S, S, U, U, U}, {.max_nodes = 1}), asks({U, U, U, S, S, S})}, sharing);
    EXPECT_THAT(result.region_of, ElementsAre(0, 1, 2, 3, 3, 3));
  }
}

TEST(PlanOwners, PiecesAreParted) {
  RegionGraph graph;
  for (int i = 0; i < 3; ++i) graph.add_node(U, {});
  for (Sharing sharing : all_sharings) {
    for (RegionOptions options :
         {RegionOptions{.mode = RegionMode::Apart}, RegionOptions{.mode = RegionMode::Connected},
          RegionOptions{.horizontal = Horizontal::None},
          RegionOptions{.horizontal = Horizontal::Near, .near_distance = 1}}) {
      EXPECT_EQ(plan(graph, {asks({S, U, S}, options), asks({U, S, U})}, sharing).regions.size(), 3U);
    }
    EXPECT_EQ(plan(graph, {asks({S, U, S}), asks({U, S, U})}, sharing).regions.size(), 2U);
  }
}

// --- random graphs

std::vector<OwnerQuestion> random_owners(const RegionGraph& graph, std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<OwnerQuestion> owners;
  for (std::size_t owner = 0; owner < count; ++owner) {
    OwnerQuestion& question = owners.emplace_back();
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      const std::uint32_t draw = random() % 10;
      question.support.push_back(draw < 4 ? S : draw < 5 ? N : U);
    }
    for (std::size_t group = 0; group < graph.groups.size(); ++group) {
      if (random() % 2 == 0) question.groups.add_row(graph.groups[group]);
    }
    if (seed % 3 == 1) question.options.min_nodes = 2;
    if (seed % 5 == 1) question.options.max_nodes = 6;
    if (seed % 7 == 1) question.options.horizontal = static_cast<Horizontal>(seed / 7 % 3);
    if (seed % 11 == 1) question.options.mode = static_cast<RegionMode>(seed / 11 % 5);
    if (seed % 4 == 1) question.options.loose_nodes = LooseNodes::PlaceAlone;
    if (seed % 6 == 1)
      question.options.worth = [](std::span<const std::uint32_t> nodes) { return Worth{nodes.size(), 3}; };
  }
  return owners;
}

TEST(PlanOwnersRandom, EveryPlanIsValid) {
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    const RegionGraph graph = testing::random_graph(
        {.nodes = 1 + seed % 60, .window = 3 + seed % 20, .groups = seed % 2 == 0 ? 0 : seed % 8}, seed);
    const std::vector<OwnerQuestion> owners = random_owners(graph, 2 + seed % 3, seed);
    for (Sharing sharing : all_sharings) {
      const OwnersPlan result = plan_owners(graph, owners, sharing);
      ASSERT_EQ(broken_rule(graph, result, owners), "")
          << "seed " << seed << " sharing " << static_cast<int>(sharing);
      for (std::uint32_t region = 0; region < result.regions.size(); ++region) {
        const RegionOptions& options = owners[result.owner_of[region]].options;
        if (owners[result.owner_of[region]].groups.size() > 0) continue;  // a group is not cut
        ASSERT_LE(result.regions[region].size(), options.max_nodes) << "seed " << seed;
      }
    }
  }
}

// Regions that each way needs, added up over graphs of one kind; nodes are taken by either of two owners or
// by none.
struct Totals {
  std::size_t in_order = 0;
  std::size_t one_pass = 0;
  std::size_t best = 0;
};

Totals totals(const testing::RandomGraph& shape, std::uint32_t owners) {
  Totals sum;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const RegionGraph graph = testing::random_graph(shape, seed);
    std::mt19937 random(seed);
    std::vector<OwnerQuestion> questions(owners, asks(std::vector<Support>(graph.size(), U)));
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      if (random() % 10 != 0) questions[random() % owners].support[node] = S;
    }
    sum.in_order += plan_owners(graph, questions, Sharing::InOrder).regions.size();
    sum.one_pass += plan_owners(graph, questions, Sharing::OnePass).regions.size();
    sum.best += plan_owners(graph, questions).regions.size();
  }
  return sum;
}

TEST(PlanOwnersRandom, OnePassNeedsFewerRegions) {
  const testing::RandomGraph shape{.nodes = 2000, .window = 64, .inputs = 1.5};
  for (std::uint32_t owners : {2U, 3U}) {
    const Totals sum = totals(shape, owners);
    EXPECT_LT(static_cast<double>(sum.one_pass), 0.9 * static_cast<double>(sum.in_order)) << owners;
    EXPECT_LE(sum.best, sum.one_pass);
  }
}

// Nothing in it depends on addresses or hashes.
TEST(PlanOwnersRandom, SameTwice) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const RegionGraph graph = testing::random_graph({.nodes = 100, .groups = 5}, seed);
    const std::vector<OwnerQuestion> owners = random_owners(graph, 3, seed);
    EXPECT_EQ(plan_owners(graph, owners).region_of, plan_owners(graph, owners).region_of);
  }
}

}  // namespace
}  // namespace depute
