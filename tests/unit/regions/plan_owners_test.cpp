// Several owners on one graph: small cases that can be seen, and rules that hold on random ones.
#include "regions/plan_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/regions/grow_regions_testing.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using testing::N;
using testing::S;
using testing::U;

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

bool is_refused(NodeOutcome placement) {
  return placement == NodeOutcome::TooSmall || placement == NodeOutcome::NotWorth;
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
  if (plan.owners[owner].placement[node] != NodeOutcome::InRegion) return "placement";
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

OwnersPlan plan(const RegionGraph& graph, const std::vector<OwnerQuestion>& owners) {
  OwnersPlan result = plan_owners(graph, owners);
  EXPECT_EQ(broken_rule(graph, result, owners), "");
  return result;
}

TEST(PlanOwners, TheFirstThatCanTakesANode) {
  const OwnersPlan result = plan(chain(4), {asks({S, U, U, S}), asks({U, S, S, S})});
  EXPECT_THAT(result.region_of, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(result.owner_of, ElementsAre(0, 1, 0));
}

TEST(PlanOwners, OneOwnerAndNone) {
  EXPECT_THAT(plan(chain(3), {asks({S, U, S})}).owner_of, ElementsAre(0, 0));
  EXPECT_TRUE(plan(chain(3), {asks({U, U, U}), asks({U, U, U})}).owner_of.empty());
  EXPECT_TRUE(plan(RegionGraph{}, {asks({}), asks({})}).owner_of.empty());
}

// A view that both take where useful bridges whichever owner is around it.
TEST(PlanOwners, NeutralNodesJoinTheOwnerAroundThem) {
  const OwnersPlan result = plan(chain(7), {asks({S, N, S, N, U, N, U}), asks({U, N, U, N, S, N, S})});
  EXPECT_THAT(result.region_of, ElementsAre(0, 0, 0, no_region, 1, 1, 1));
  EXPECT_THAT(result.owner_of, ElementsAre(0, 1));
}

// A view that the second owner would take stays within the first one's region, where it is useful.
TEST(PlanOwners, ANodeJoinsAnotherOwnersRegionWhereItIsNeutral) {
  const OwnersPlan result = plan(chain(3), {asks({S, N, S}), asks({U, S, U})});
  EXPECT_THAT(result.region_of, ElementsAre(0, 0, 0));
}

// Alone it is no use to the first owner, so the second gets it.
TEST(PlanOwners, ANeutralNodeWithoutUseGoesToTheNextOwner) {
  const OwnersPlan result = plan(chain(2), {asks({N, U}), asks({S, U})});
  EXPECT_THAT(result.owner_of, ElementsAre(1));
}

TEST(PlanOwners, WhatIsTooSmallForOneGoesToTheNext) {
  const OwnersPlan result = plan(chain(4), {asks({S, U, S, S}, {.min_nodes = 2}), asks({S, S, U, U})});
  EXPECT_THAT(result.region_of, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(result.owner_of, ElementsAre(1, 0));
  EXPECT_EQ(result.owners[0].placement[0], NodeOutcome::TooSmall);
}

TEST(PlanOwners, AGroupWhoseNodeAnEarlierOwnerTookIsDissolved) {
  OwnerQuestion second = asks({U, U, S});
  second.groups.add_row(std::vector{1U, 2U});
  const OwnersPlan result = plan(chain(3), {asks({U, S, U}), second});
  EXPECT_THAT(result.region_of, ElementsAre(no_region, 0, no_region));
  ASSERT_EQ(result.owners[1].dissolved.size(), 1U);
  EXPECT_EQ(result.owners[1].dissolved[0].enclosed, 1U);
}

// 0 -> 1 and 2 -> 3.
RegionGraph two_chains() {
  RegionGraph graph;
  graph.add_node(U, {});
  graph.add_node(U, {0});
  graph.add_node(U, {});
  graph.add_node(U, {2});
  return graph;
}

// Of two chains, with {0 3} the first owner's group and {1 2} the second's: they would need each other.
TEST(PlanOwners, GroupsOfTwoOwnersDoNotCloseACircle) {
  const RegionGraph graph = two_chains();
  OwnerQuestion first = asks({U, U, U, U});
  first.groups.add_row(std::vector{0U, 3U});
  OwnerQuestion second = asks({U, U, U, U});
  second.groups.add_row(std::vector{1U, 2U});
  const OwnersPlan result = plan(graph, {first, second});
  EXPECT_THAT(result.region_of, ElementsAre(0, no_region, no_region, 0));
  EXPECT_EQ(result.owners[1].dissolved.size(), 1U);
}

// The same groups of one owner are one region, unless each shall be one of its own.
TEST(PlanOwners, GroupsOfOneOwnerThatNeedEachOtherShareARegion) {
  const RegionGraph graph = two_chains();
  OwnerQuestion first = asks({U, U, U, U});
  first.groups.add_row(std::vector{0U, 3U});
  first.groups.add_row(std::vector{1U, 2U});
  const OwnerQuestion second = asks({U, U, U, U});
  EXPECT_THAT(plan(graph, {first, second}).region_of, ElementsAre(0, 0, 0, 0));
  first.options.mode = RegionMode::Apart;
  EXPECT_THAT(plan(graph, {first, second}).region_of, ElementsAre(0, no_region, no_region, 0));
}

// 0 -> 2 and 1 -> 3, where first takes 3, second 1 and 2, and third 0. Both ways are as long, but if third
// goes before it, second can have 2 beside 1.
TEST(PlanOwners, AnOwnerWaitsForWhatAnotherGivesIt) {
  RegionGraph graph;
  graph.add_node(U, {});
  graph.add_node(U, {});
  graph.add_node(U, {0});
  graph.add_node(U, {1});
  const OwnersPlan result = plan(graph, {asks({U, U, U, S}), asks({U, S, S, U}), asks({S, U, U, U})});
  EXPECT_THAT(result.region_of, ElementsAre(0, 1, 1, 2));
}

// 0 -> 2 -> 3 and 1 -> 3, where second takes 2: only 3 reads 1, so both are in one region.
TEST(PlanOwners, NodesGoWhereFewerValuesCrossBorders) {
  RegionGraph graph;
  graph.add_node(U, {});
  graph.add_node(U, {});
  graph.add_node(U, {0});
  graph.add_node(U, {2, 1});
  EXPECT_THAT(plan(graph, {asks({S, S, U, S}), asks({U, U, S, U})}).region_of, ElementsAre(0, 2, 1, 2));
}

TEST(PlanOwners, LimitsAreThoseOfTheOwner) {
  const OwnersPlan result =
      plan(chain(6), {asks({S, S, S, U, U, U}, {.max_nodes = 1}), asks({U, U, U, S, S, S})});
  EXPECT_THAT(result.region_of, ElementsAre(0, 1, 2, 3, 3, 3));
}

TEST(PlanOwners, PiecesAreParted) {
  RegionGraph graph;
  for (int i = 0; i < 3; ++i) graph.add_node(U, {});
  for (RegionOptions options :
       {RegionOptions{.mode = RegionMode::Apart}, RegionOptions{.merge_unconnected = false}}) {
    EXPECT_EQ(plan(graph, {asks({S, U, S}, options), asks({U, S, U})}).regions.size(), 3U);
  }
  EXPECT_EQ(plan(graph, {asks({S, U, S}), asks({U, S, U})}).regions.size(), 2U);
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
    if (seed % 7 == 1) question.options.merge_unconnected = seed / 7 % 2 == 0;
    if (seed % 11 == 1) question.options.mode = static_cast<RegionMode>(seed / 11 % 3);
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
    const OwnersPlan result = plan_owners(graph, owners);
    ASSERT_EQ(broken_rule(graph, result, owners), "") << "seed " << seed;
    for (std::uint32_t region = 0; region < result.regions.size(); ++region) {
      const RegionOptions& options = owners[result.owner_of[region]].options;
      if (owners[result.owner_of[region]].groups.size() > 0) continue;  // a group is not cut
      ASSERT_LE(result.regions[region].size(), options.max_nodes) << "seed " << seed;
    }
  }
}

// Two or three owners that take nodes at random; none takes a tenth of them.
std::vector<OwnerQuestion> simple_owners(const RegionGraph& graph, std::uint32_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<OwnerQuestion> owners(count, asks(std::vector<Support>(graph.size(), U)));
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    if (random() % 10 != 0) owners[random() % count].support[node] = S;
  }
  return owners;
}

// Runs all that `owner` takes, again and again; nodes that nobody takes are an owner, too.
void run_all(const RegionGraph& graph, const std::vector<std::uint32_t>& owner_of, std::uint32_t owner,
             std::vector<bool>& is_done) {
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    const auto is_there = [&](std::uint32_t pred) { return is_done[pred]; };
    if (owner_of[node] == owner && std::ranges::all_of(graph.preds[node], is_there)) is_done[node] = true;
  }
}

// The fewest regions of any valid plan: all orders of regions are tried, each with all it can have.
std::size_t fewest_regions(const RegionGraph& graph, std::span<const OwnerQuestion> owners) {
  const auto nobody = static_cast<std::uint32_t>(owners.size());
  std::vector<std::uint32_t> owner_of(graph.size(), nobody);
  for (std::uint32_t owner = nobody; owner-- > 0;) {
    for (std::uint32_t node = 0; node < graph.size(); ++node) {
      if (owners[owner].support[node] == S) owner_of[node] = owner;
    }
  }
  std::set<std::vector<bool>> reached{std::vector<bool>(graph.size(), false)};
  for (std::size_t regions = 0;; ++regions) {
    std::set<std::vector<bool>> next;
    for (std::vector<bool> is_done : reached) {
      run_all(graph, owner_of, nobody, is_done);
      if (std::ranges::all_of(is_done, std::identity())) return regions;
      for (std::uint32_t owner = 0; owner < nobody; ++owner) {
        std::vector<bool> after = is_done;
        run_all(graph, owner_of, owner, after);
        if (after != is_done) next.insert(std::move(after));
      }
    }
    reached = std::move(next);
  }
}

// No fast way finds the fewest regions always. To 3330 and 4498 that these graphs need it adds 2 and 50;
// without the look at what waiting gains it would add 3 and 158.
TEST(PlanOwnersRandom, FewRegionsMoreThanAreNeeded) {
  for (std::uint32_t owners : {2U, 3U}) {
    std::size_t needed = 0;
    std::size_t planned = 0;
    for (std::uint32_t seed = 0; seed < 500; ++seed) {
      const RegionGraph graph = testing::random_graph({.nodes = 36, .window = 10}, seed);
      const std::vector<OwnerQuestion> questions = simple_owners(graph, owners, seed);
      const std::size_t fewest = fewest_regions(graph, questions);
      const std::size_t regions = plan_owners(graph, questions).regions.size();
      ASSERT_GE(regions, fewest) << "seed " << seed;
      needed += fewest;
      planned += regions;
    }
    EXPECT_LE(planned - needed, needed / (owners == 2 ? 1000 : 80)) << planned << " of " << needed;
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
