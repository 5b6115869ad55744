// From answers per node to tags, constants and verdicts.
#include "depute/backend/partitioner.h"

#include <gtest/gtest.h>

#include "tests/unit/parse.h"

namespace depute {
namespace {

NodeSupport support(const Node& node) {
  if (node.op() == "aten.view.default") return take_if_useful();
  if (node.op() == "aten.tan.default") return refuse("op", "aten.tan.default", "all others");
  return take();
}

PartitionResult propose(const Program& program, SupportFunction function, ProposeOptions options) {
  auto result = propose_partitions(program, *program.methods[0], std::move(function), std::move(options));
  EXPECT_TRUE(result.has_value()) << result.error().str();
  return std::move(*result);
}

const Verdict& verdict(const PartitionResult& result, std::string_view name) {
  for (const auto& [node, verdict] : result.verdicts) {
    if (node->display_name() == name) return verdict;
  }
  ADD_FAILURE() << "no verdict for " << name;
  static const Verdict none;
  return none;
}

TEST(ProposePartitions, TagsRegionsInGraphOrderAndGivesEveryNodeOneVerdict) {
  Program program = parse(R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[2] = aten.add.Tensor(%x, %w)
  %b: f32[2] = aten.tan.default(%a)
  %c: f32[2] = aten.mul.Tensor(%b, %w)
  %v: f32[2, 1] = aten.view.default(%x, [2, 1])
  return %c, %v
}
)");
  PartitionResult result = propose(program, support, {.owner = "mine", .spec = {"Mine", {}}});
  ASSERT_EQ(result.node_tags.size(), 2u);
  EXPECT_EQ(result.node_tags[0].second, "mine0");
  EXPECT_EQ(result.node_tags[1].second, "mine1");
  EXPECT_EQ(result.partition_tags.size(), 2u);
  EXPECT_EQ(result.constant_tags.size(), 2u) << "the shared constant is given to each region once";
  ASSERT_EQ(result.verdicts.size(), 4u);
  EXPECT_TRUE(verdict(result, "a").delegated);
  EXPECT_EQ(verdict(result, "a").owner, "mine");
  EXPECT_EQ(verdict(result, "b").rule, "op");
  EXPECT_EQ(verdict(result, "b").allowed, "all others");
  EXPECT_EQ(verdict(result, "v").rule, "no-compute");
}

TEST(ProposePartitions, SmallRegionsAreRefusedWithTheirSize) {
  Program program = parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.sin.default(%x)
  %b: f32[2] = aten.tan.default(%a)
  return %b
}
)");
  ProposeOptions options{.owner = "mine", .spec = {"Mine", {}}};
  options.regions.min_nodes = 2;
  PartitionResult result = propose(program, support, options);
  EXPECT_TRUE(result.node_tags.empty());
  EXPECT_EQ(verdict(result, "a").rule, "too-small");
  EXPECT_EQ(verdict(result, "a").seen, "1 nodes");
  EXPECT_EQ(verdict(result, "a").allowed, "at least 2");
}

TEST(ProposePartitions, AGroupAroundAnUnsupportedNodeIsLeftWithItsReason) {
  Program program = parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.sin.default(%x)
  %b: f32[2] = aten.tan.default(%a)
  %c: f32[2] = aten.add.Tensor(%a, %b)
  return %c
}
)");
  const Graph& graph = *program.methods[0]->graph;
  ProposeOptions options{.owner = "mine", .spec = {"Mine", {}}};
  options.groups = {{graph.first(), graph.last()}};
  PartitionResult result =
      propose(program, [](const Node&) { return refuse("alone", "one node", "its group"); }, options);
  EXPECT_TRUE(result.node_tags.empty());
  EXPECT_EQ(verdict(result, "a").rule, "group");
  EXPECT_EQ(verdict(result, "a").seen, "%a -> %b -> %c");
  EXPECT_EQ(verdict(result, "b").rule, "alone");
}

std::vector<const Node*> nodes_named(const Program& program, std::initializer_list<std::string_view> names) {
  std::vector<const Node*> nodes;
  for (const std::string_view name : names) {
    for (const Node& node : program.methods[0]->graph->nodes())
      if (node.display_name() == name) nodes.push_back(&node);
  }
  return nodes;
}

std::vector<std::string> tags(const PartitionResult& result) {
  std::vector<std::string> texts;
  for (const auto& [node, tag] : result.node_tags)
    texts.push_back(std::string(node->display_name()) + " " + std::string(tag.str()));
  return texts;
}

TEST(ProposePartitions, SetsThatStayApartAreRegionsOfTheirOwn) {
  Program program = parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.sin.default(%x)
  %b: f32[2] = aten.cos.default(%a)
  %c: f32[2] = aten.sin.default(%b)
  %d: f32[2] = aten.cos.default(%c)
  %e: f32[2] = aten.add.Tensor(%d, %x)
  return %e
}
)");
  ProposeOptions options{.owner = "mine", .spec = {"Mine", {}}};
  options.isolated_sets = {nodes_named(program, {"a", "b"}), nodes_named(program, {"c", "d"})};
  const PartitionResult result = propose(program, support, options);
  EXPECT_EQ(tags(result), (std::vector<std::string>{"a mine0", "b mine0", "c mine1", "d mine1", "e mine2"}));
  for (const auto& [node, verdict] : result.verdicts)
    EXPECT_EQ(verdict.owner, "mine") << node->display_name();
}

TEST(ProposePartitions, SetsThatCannotStayApartAreAsIfTheyWereNotNamed) {
  Program program = parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.sin.default(%x)
  %t: f32[2] = aten.tan.default(%a)
  %b: f32[2] = aten.add.Tensor(%a, %t)
  %c: f32[2] = aten.cos.default(%b)
  return %c
}
)");
  ProposeOptions options{.owner = "mine", .spec = {"Mine", {}}};
  const auto without = tags(propose(program, support, options));
  options.isolated_sets = {nodes_named(program, {"a", "b"})};  // around a node that is not taken
  const PartitionResult around = propose(program, support, options);
  EXPECT_EQ(tags(around), without);
  EXPECT_EQ(verdict(around, "t").rule, "op");
  options.isolated_sets = {nodes_named(program, {"a", "t"})};  // with one that is not taken
  const PartitionResult with = propose(program, support, options);
  EXPECT_EQ(tags(with), without);
  EXPECT_EQ(verdict(with, "t").rule, "op");
}

TEST(ProposePartitions, MutatedBuffersStayOutside) {
  Program program = parse(R"(program
data "state": f32[2] = [0, 0]
method forward(%s: f32[2] = buffer "state", %x: f32[2]) {
  %a: f32[2] = aten.add.Tensor(%s, %x)
  store buffer "state" = %a
  return %a
}
)");
  PartitionResult result = propose(program, support, {.owner = "mine", .spec = {"Mine", {}}});
  EXPECT_EQ(result.node_tags.size(), 1u);
  EXPECT_TRUE(result.constant_tags.empty());
}

}  // namespace
}  // namespace depute
