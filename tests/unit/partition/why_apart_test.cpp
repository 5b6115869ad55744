// Reasons why two nodes are apart, checked by forcing them together.
#include "depute/why_apart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "depute/capability_partitioner.h"
#include "depute/propose_partitions.h"
#include "tests/unit/partition/method_testing.h"

namespace depute {
namespace {

using Reason = WhyApart::Reason;

bool is_taken(const Node& node) {
  return node.op() != "op.e.default" && node.op() != "op.d.default" && node.op() != "op.cond.default";
}

NodeSupport support(const Node& node) {
  return is_taken(node) ? take() : refuse("op");
}

PartitionResult propose(const Program& program, std::vector<std::vector<const Node*>> groups = {}) {
  ProposeOptions options{.owner = "mine", .spec = {"Mine", {}}};
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

TEST(WhyApart, ReasonsHoldWhenNodesAreForcedTogether) {
  std::array<int, 7> seen{};
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const Program program = testing::random_program(seed);
    const Method& method = *program.methods[0];
    const PartitionResult result = propose(program);
    const std::size_t partitions = own_partitions(method, result);
    std::vector<const Node*> nodes;
    for (const Node& node : method.graph->nodes()) {
      if (is_taken(node)) nodes.push_back(&node);
    }
    for (std::size_t i = 0; i + 1 < nodes.size(); i += 2) {
      const Node& a = *nodes[i];
      const Node& b = *nodes[(i * 7 + seed) % nodes.size()];
      if (&a == &b) continue;
      const WhyApart why = why_apart(result, a, b);
      ++seen[static_cast<std::size_t>(why.reason)];
      const PartitionResult forced = propose(program, {{&a, &b}});
      const bool is_kept = why_apart(forced, a, b).reason == Reason::Together;
      EXPECT_EQ(is_kept, why.reason != Reason::Circle) << "seed " << seed << ": " << why.text;
      if (why.reason == Reason::OneMore) {
        EXPECT_GT(own_partitions(method, forced), partitions) << "seed " << seed << ": " << why.text;
      } else if (why.reason == Reason::Choice) {
        EXPECT_EQ(own_partitions(method, forced), partitions) << "seed " << seed << ": " << why.text;
      } else if (why.reason == Reason::Circle) {
        EXPECT_FALSE(std::ranges::all_of(why.path, [](const Node* node) { return is_taken(*node); }));
      }
      for (const auto* path : {&why.path, &why.path_after}) {
        for (std::size_t step = 1; step < path->size(); ++step)
          EXPECT_TRUE(is_edge(*(*path)[step - 1], *(*path)[step])) << why.text;
      }
    }
  }
  for (Reason reason : {Reason::Together, Reason::Circle, Reason::OneMore, Reason::Choice})
    EXPECT_GT(seen[static_cast<std::size_t>(reason)], 20) << static_cast<int>(reason);
}

TEST(WhyApart, NodesOfOtherGraphsAndOwners) {
  const Program program = testing::parsed(R"(program
method forward(%x: f32[2]) {
  graph @each(%x: f32[2]) {
    %i: f32[2] = op.a.default(%x)
    return %i
  }
  %a: f32[2] = op.a.default(%x)
  %m: f32[2] = higher_order.map_impl(@each, [%a], [])
  %b: f32[2] = op.b.default(%m)
  return %b
}
)");
  const Graph& graph = *program.methods[0]->graph;
  const Node& inner = *program.methods[0]->bodies[0]->first();
  PartitionResult result;
  for (const auto& [node, owner] : {std::pair(graph.first(), "one"), std::pair(graph.last(), "two")}) {
    result.node_tags.emplace_back(node, Symbol(owner));
    result.verdicts.emplace_back(node, Verdict{.delegated = true, .owner = owner});
  }
  const auto expect = [&](const Node& other, Reason reason, std::string_view text) {
    const WhyApart why = why_apart(result, *graph.first(), other);
    EXPECT_EQ(why.reason, reason);
    EXPECT_EQ(why.text, text);
  };
  expect(*graph.first(), Reason::Together, "they are in one partition");
  expect(*graph.last(), Reason::OtherOwner, "one takes %a, two takes %b");
  expect(inner, Reason::OtherGraph, "%a is in graph forward, %i in graph each");
  result.verdicts.emplace_back(graph.first()->next(), Verdict{.rule = "op"});
  expect(*graph.first()->next(), Reason::NotDelegated, "%m is not delegated: op");
}

}  // namespace
}  // namespace depute
