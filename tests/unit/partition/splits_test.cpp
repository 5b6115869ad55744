// Reasons why two partitions of a backend are not one, checked by forcing them together.
#include "depute/backend/partitioner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "depute/backend/partitioners.h"
#include "tests/unit/partition/method_testing.h"

namespace depute {
namespace {

bool is_taken(const Node& node) {
  return node.op() != "aten.cos.default" && node.op() != "aten.sin.default" &&
         node.op() != "higher_order.cond";
}

NodeSupport own_support(const Node& node) {
  return is_taken(node) ? take() : refuse("op");
}

PartitionResult propose(const Program& program, RegionOptions regions,
                        std::vector<std::vector<const Node*>> groups = {}) {
  ProposeOptions options{.owner = "mine", .spec = {"Mine", {}}, .regions = std::move(regions)};
  options.groups = std::move(groups);
  auto result = propose_partitions(program, *program.methods[0], own_support, std::move(options));
  EXPECT_TRUE(result) << result.error().str();
  return std::move(*result);
}

std::size_t own_partitions(const Method& method, const PartitionResult& result) {
  std::vector<const void*> tags;
  for (const auto& [node, tag] : result.node_tags) {
    if (&node->graph() == method.graph.get() && std::ranges::find(tags, tag.id()) == tags.end())
      tags.push_back(tag.id());
  }
  return tags.size();
}

bool is_edge(const Node& from, const Node& to) {
  for (std::size_t i = 0; i < to.operand_count(); ++i) {
    if (to.operand(i)->producer() == &from) return true;
  }
  return false;
}

std::vector<const Node*> nodes_of(const PartitionResult& result, const Graph& graph,
                                  std::initializer_list<Name> tags) {
  std::vector<const Node*> nodes;
  for (const auto& [node, tag] : result.node_tags) {
    if (&node->graph() == &graph && std::ranges::find(tags, tag) != tags.end()) nodes.push_back(node);
  }
  return nodes;
}

std::vector<const Node*> nodes_named(const Graph& graph, const std::vector<Name>& names) {
  std::map<std::string_view, const Node*> by_name;
  for (const Node& node : graph.nodes()) by_name.emplace(node.display_name(), &node);
  std::vector<const Node*> nodes;
  for (Name name : names) nodes.push_back(by_name.at(name.str()));
  return nodes;
}

void expect_paths(const Graph& graph, const Split& split) {
  for (const auto* names : {&split.path, &split.path_after}) {
    const std::vector<const Node*> path = nodes_named(graph, *names);
    for (std::size_t step = 1; step < path.size(); ++step)
      EXPECT_TRUE(is_edge(*path[step - 1], *path[step])) << split.text;
  }
  if (split.reason != SplitReason::Circle) return;
  EXPECT_FALSE(std::ranges::all_of(nodes_named(graph, split.path), [](const Node* node) {
    return is_taken(*node);
  })) << split.text;
}

// Unrelated pieces and small limits leave partitions apart that nothing but those keeps apart.
TEST(Splits, ReasonsHoldWhenPartitionsAreForcedTogether) {
  std::map<SplitReason, int> seen;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Program program = testing::random_program(seed);
    const Method& method = *program.methods[0];
    const std::size_t fewest = own_partitions(method, propose(program, {}));
    const PartitionResult result = propose(
        program, seed % 2 == 0 ? RegionOptions{.merge_unconnected = false} : RegionOptions{.max_nodes = 2});
    for (const Split& split : find_splits(program, method, result).pairs) {
      EXPECT_EQ(split.method, method.name);
      if (!split.graph.empty()) continue;
      ++seen[split.reason];
      EXPECT_NE(split.reason, SplitReason::Choice)
          << "seed " << seed << ": " << split.first.str() << " " << split.second.str();
      expect_paths(*method.graph, split);
      const std::vector<const Node*> both = nodes_of(result, *method.graph, {split.first, split.second});
      const PartitionResult forced = propose(program, {}, {both});
      const auto node_of = [](const auto& entry) { return entry.first; };
      const bool is_kept =
          std::ranges::find(forced.node_tags, both.front(), node_of) != forced.node_tags.end();
      EXPECT_EQ(is_kept, split.reason != SplitReason::Circle) << "seed " << seed << ": " << split.text;
      if (!is_kept) continue;
      const bool is_more = own_partitions(method, forced) > fewest;
      EXPECT_EQ(is_more, split.reason == SplitReason::OneMore) << "seed " << seed << ": " << split.text;
    }
  }
  for (SplitReason reason :
       {SplitReason::Circle, SplitReason::OneMore, SplitReason::Limit, SplitReason::Mode})
    EXPECT_GT(seen[reason], 20);
  EXPECT_EQ(seen.size(), 4U);
}

// The result of the second call depends on the first one, though no value leads from one to the other.
TEST(Splits, KnowsTheOrderOfCallsThatKeepState) {
  const Program program = parse(R"(program
delegate counter backend "Counter" {
  blob ""
}
method forward(%x: f32[2], %y: f32[2]) {
  %a: f32[2] = aten.abs.default(%x)
  %c: f32[2] = delegate.call(@counter, %a)
  %d: f32[2] = delegate.call(@counter, %y)
  %b: f32[2] = aten.neg.default(%d)
  return %b, %c
}
)");
  const Graph& graph = *program.methods[0]->graph;
  PartitionResult result;
  for (const auto& [node, tag] : {std::pair(graph.first(), "mine0"), std::pair(graph.last(), "mine1")}) {
    result.node_tags.emplace_back(node, Name(tag));
    result.partition_tags.try_emplace(Name(tag), DelegationSpec{"Mine", {}});
  }
  const Splits all = find_splits(program, *program.methods[0], result);
  ASSERT_EQ(all.pairs.size(), 1U);
  EXPECT_EQ(all.pairs[0].reason, SplitReason::Circle);
  EXPECT_EQ(all.pairs[0].text,
            "%a -> %c -> %d -> %b: one partition with both would reverse the order of effects");
}

// Each backend's partitions are compared with each other, graph by graph.
TEST(Splits, PairsAreOfOneBackendAndOneGraph) {
  const Program program = parse(R"(program
method forward(%x: f32[2]) {
  graph @each(%x: f32[2]) {
    %i: f32[2] = aten.abs.default(%x)
    %j: f32[2] = aten.neg.default(%i)
    return %j
  }
  %a: f32[2] = aten.abs.default(%x)
  %m: f32[2] = higher_order.map_impl(@each, [%a], [])
  %b: f32[2] = aten.neg.default(%m)
  %c: f32[2] = aten.abs.default(%b)
  return %c
}
)");
  const Graph& graph = *program.methods[0]->graph;
  const Graph& body = *program.methods[0]->bodies[0];
  PartitionResult result;
  const auto tag = [&](const Node* node, const char* name, const char* backend) {
    result.node_tags.emplace_back(node, Name(name));
    result.partition_tags.try_emplace(Name(name), DelegationSpec{backend, {}});
  };
  tag(graph.first(), "one0", "One");
  tag(graph.last()->previous(), "two0", "Two");
  tag(graph.last(), "one1", "One");
  tag(body.first(), "one2", "One");
  tag(body.last(), "one3", "One");
  std::vector<std::string> pairs;
  for (const Split& split : find_splits(program, *program.methods[0], result).pairs)
    pairs.push_back(fmt::format("{}:{} {}", split.graph.str(), split.first.str(), split.second.str()));
  EXPECT_EQ(pairs, (std::vector<std::string>{":one0 one1", "each:one2 one3"}));
}

// a -> tan -> b -> tan -> ...: the number of pairs is limited, and long paths keep only their ends.
TEST(Splits, ManyPartitionsAndLongPaths) {
  std::string text = "program\nmethod forward(%v0: f32[2]) {\n";
  PartitionResult result;
  for (std::uint32_t i = 1; i <= 3 * max_splits; ++i)
    text += fmt::format("  %v{}: f32[2] = aten.{}.default(%v{})\n", i, i % 2 == 0 ? "cos" : "abs", i - 1);
  const Program program = parse(fmt::format("{}  return %v{}\n}}\n", text, 3 * max_splits));
  const Method& method = *program.methods[0];
  Splits all = find_splits(program, method, propose(program, {}));
  EXPECT_EQ(all.pairs.size(), max_splits);
  EXPECT_EQ(all.omitted, 3 * max_splits / 2 - 1 - max_splits);

  const Graph& graph = *method.graph;
  for (const auto& [node, tag] : {std::pair(graph.first(), "mine0"), std::pair(graph.last(), "mine1")}) {
    result.node_tags.emplace_back(node, Name(tag));
    result.partition_tags.try_emplace(Name(tag), DelegationSpec{"Mine", {}});
  }
  all = find_splits(program, method, result);
  ASSERT_EQ(all.pairs.size(), 1U);
  EXPECT_EQ(all.pairs[0].path.size(), max_split_path);
  EXPECT_EQ(all.pairs[0].path.front(), graph.first()->display_symbol());
  EXPECT_EQ(all.pairs[0].path.back(), graph.last()->display_symbol());
}

}  // namespace
}  // namespace depute
