// Reasons why two partitions are apart, checked by forcing them together.
#include "depute/why_apart.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "depute/capability_partitioner.h"
#include "depute/propose_partitions.h"
#include "tests/unit/partition/method_testing.h"

namespace depute {
namespace {

using Reason = WhyApart::Reason;

bool is_taken(const Node& node) {
  return node.op() != "aten.cos.default" && node.op() != "aten.sin.default" &&
         node.op() != "higher_order.cond";
}

NodeSupport support(const Node& node) {
  return is_taken(node) ? take() : refuse("op");
}

PartitionResult propose(const Program& program, RegionOptions regions,
                        std::vector<std::vector<const Node*>> groups = {}) {
  ProposeOptions options{.owner = "mine", .spec = {"Mine", {}}, .regions = std::move(regions)};
  options.groups = std::move(groups);
  auto result = propose_partitions(program, *program.methods[0], support, std::move(options));
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

void expect_paths(const WhyApart& why) {
  for (const auto* path : {&why.path, &why.path_after}) {
    for (std::size_t step = 1; step < path->size(); ++step)
      EXPECT_TRUE(is_edge(*(*path)[step - 1], *(*path)[step])) << why.text;
  }
  if (why.reason != Reason::Circle) return;
  EXPECT_FALSE(std::ranges::all_of(why.path, [](const Node* node) { return is_taken(*node); })) << why.text;
}

// Unrelated pieces and small limits leave partitions apart that nothing but those keeps apart.
TEST(WhyApart, ReasonsHoldWhenPartitionsAreForcedTogether) {
  std::map<Reason, int> seen;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Program program = testing::random_program(seed);
    const Method& method = *program.methods[0];
    const std::size_t fewest = own_partitions(method, propose(program, {}));
    const PartitionResult result =
        propose(program, seed % 2 == 0 ? RegionOptions{.horizontal = Horizontal::None}
                                       : RegionOptions{.max_nodes = 2});
    for (const WhyApart& why : why_apart(program, result).pairs) {
      if (why.graph != method.graph.get()) continue;
      ++seen[why.reason];
      EXPECT_NE(why.reason, Reason::Choice)
          << "seed " << seed << ": " << why.first.str() << " " << why.second.str();
      expect_paths(why);
      const std::vector<const Node*> both = nodes_of(result, *method.graph, {why.first, why.second});
      const PartitionResult forced = propose(program, {}, {both});
      const auto node_of = [](const auto& entry) { return entry.first; };
      const bool is_kept =
          std::ranges::find(forced.node_tags, both.front(), node_of) != forced.node_tags.end();
      EXPECT_EQ(is_kept, why.reason != Reason::Circle) << "seed " << seed << ": " << why.text;
      if (!is_kept) continue;
      const bool is_more = own_partitions(method, forced) > fewest;
      EXPECT_EQ(is_more, why.reason == Reason::OneMore) << "seed " << seed << ": " << why.text;
    }
  }
  for (Reason reason : {Reason::Circle, Reason::OneMore, Reason::Limit, Reason::Mode})
    EXPECT_GT(seen[reason], 20);
  EXPECT_EQ(seen.size(), 4U);
}

// The result of the second call depends on the first one, though no value leads from one to the other.
TEST(WhyApart, KnowsTheOrderOfCallsThatKeepState) {
  const Program program = testing::parsed(R"(program
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
  const WhyAllApart all = why_apart(program, result);
  ASSERT_EQ(all.pairs.size(), 1U);
  EXPECT_EQ(all.pairs[0].reason, Reason::Circle);
  EXPECT_EQ(all.pairs[0].text,
            "%a -> %c -> %d -> %b: one partition with both would turn round the order of effects");
}

// Each backend's partitions are compared with each other, graph by graph.
TEST(WhyApart, PairsAreOfOneBackendAndOneGraph) {
  const Program program = testing::parsed(R"(program
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
  for (const WhyApart& why : why_apart(program, result).pairs)
    pairs.push_back(std::string(why.first.str()) + " " + std::string(why.second.str()));
  EXPECT_EQ(pairs, (std::vector<std::string>{"one0 one1", "one2 one3"}));
}

// a -> tan -> b -> tan -> ...: only so many pairs are told, and of long paths only the ends.
TEST(WhyApart, ManyPartitionsAndLongPaths) {
  std::string text = "program\nmethod forward(%v0: f32[2]) {\n";
  PartitionResult result;
  for (std::uint32_t i = 1; i <= 3 * max_apart_told; ++i)
    text += fmt::format("  %v{}: f32[2] = aten.{}.default(%v{})\n", i, i % 2 == 0 ? "cos" : "abs", i - 1);
  const Program program = testing::parsed(fmt::format("{}  return %v{}\n}}\n", text, 3 * max_apart_told));
  WhyAllApart all = why_apart(program, propose(program, {}));
  EXPECT_EQ(all.pairs.size(), max_apart_told);
  EXPECT_EQ(all.omitted, 3 * max_apart_told / 2 - 1 - max_apart_told);

  const Graph& graph = *program.methods[0]->graph;
  for (const auto& [node, tag] : {std::pair(graph.first(), "mine0"), std::pair(graph.last(), "mine1")}) {
    result.node_tags.emplace_back(node, Name(tag));
    result.partition_tags.try_emplace(Name(tag), DelegationSpec{"Mine", {}});
  }
  all = why_apart(program, result);
  ASSERT_EQ(all.pairs.size(), 1U);
  EXPECT_EQ(all.pairs[0].path.size(), max_apart_path);
  EXPECT_EQ(all.pairs[0].path.front(), graph.first());
  EXPECT_EQ(all.pairs[0].path.back(), graph.last());
}

}  // namespace
}  // namespace depute
