// Patterns where text tests do not reach: bounds of the search, what a match holds, and what C++ may ask.
#include "depute/backend/pattern.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "depute/backend/partitioners.h"
#include "tests/unit/partition/method_testing.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Pattern> patterns(const std::string& methods) {
  auto parsed = parse_patterns("program\n" + methods);
  EXPECT_TRUE(parsed) << parsed.error().str();
  return std::move(*parsed);
}

std::vector<PatternMatch> matches(const Program& program, const std::vector<Pattern>& wanted) {
  return find_matches(*program.methods[0], *program.methods[0]->graph, wanted);
}

std::vector<std::string> names(const PatternMatch& match) {
  std::vector<std::string> text;
  for (const Node* node : match.nodes) text.emplace_back(node->display_name());
  return text;
}

TEST(FindMatches, TellsNodesAndInputsInThePatternsOrder) {
  const Program program = parse(R"(program
method forward(%x: f32[2], %y: f32[2]) {
  %a: f32[2] = op.a.default(%y)
  %b: f32[2] = op.b.default(%x, %a)
  return %b
}
)");
  const std::vector<Pattern> wanted = patterns(R"(
method ab(%left: none, %right: none, %unused: none) {
  %1: none = op.a.default(%right)
  %2: none = op.b.default(%left, %1)
  return %2
}
)");
  const std::vector<PatternMatch> found = matches(program, wanted);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(names(found[0]), ElementsAre("a", "b"));
  const auto inputs = program.methods[0]->graph->inputs();
  EXPECT_THAT(found[0].inputs, ElementsAre(inputs[0], inputs[1], nullptr));
}

// A value used twice is one value; two inputs of a pattern may be one value, but none from inside the match.
TEST(FindMatches, ValuesAreTheSameWhereThePatternSaysSo) {
  const Program program = parse(R"(program
method forward(%x: f32[2], %y: f32[2]) {
  %a: f32[2] = op.a.default(%x, %y)
  %b: f32[2] = op.a.default(%x, %x)
  %c: f32[2] = op.b.default(%x)
  %d: f32[2] = op.c.default(%c, %c)
  return %a, %b, %d
}
)");
  EXPECT_THAT(matches(program, patterns(R"(
method same(%x: none) {
  %1: none = op.a.default(%x, %x)
  return %1
}
)")),
              SizeIs(1));
  EXPECT_THAT(matches(program, patterns(R"(
method any(%x: none, %y: none) {
  %1: none = op.a.default(%x, %y)
  return %1
}
)")),
              SizeIs(2));
  EXPECT_THAT(matches(program, patterns(R"(
method inner(%x: none, %y: none) {
  %1: none = op.b.default(%x)
  %2: none = op.c.default(%1, %y)
  return %2
}
)")),
              IsEmpty());
}

TEST(FindMatches, NodesWithSeveralResults) {
  const Program program = parse(R"(program
method forward(%x: f32[2]) {
  %v: f32[2], %i: i64[2] = op.split.default(%x)
  %a: f32[2] = op.a.default(%v)
  %b: f32[2] = op.a.default(%i)
  return %a, %b
}
)");
  const std::vector<PatternMatch> found = matches(program, patterns(R"(
method second(%x: none) {
  %v: none, %i: none = op.split.default(%x)
  %1: none = op.a.default(%i)
  return %1, %v
}
)"));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(names(found[0]), ElementsAre("v", "b"));
}

// A call that torch's own check would refuse matches nothing, instead of being read past its arguments.
TEST(FindMatches, HostileCallsMatchNothing) {
  const Program program = parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.relu.default(%x, %x, %x)
  %b: f32[2] = aten.relu.default()
  %c: f32[2] = aten.relu.default(%x, nope=1)
  return %a, %b, %c
}
)");
  EXPECT_THAT(matches(program, patterns(R"(
method relu(%x: none) {
  %1: none = aten.relu.default(match.rest)
  return %1
}
)")),
              IsEmpty());
}

// 20,000 readers of one value: each tries a bounded number of the others.
TEST(FindMatches, WideFansTakeLinearTime) {
  std::string text = "program\nmethod forward(%x: f32[2]) {\n";
  std::string outputs;
  for (int i = 0; i < 20'000; ++i) {
    text += fmt::format("  %v{}: f32[2] = op.{}.default(%x)\n", i, i % 2 == 0 ? "a" : "b");
    outputs += fmt::format("{}%v{}", i == 0 ? "" : ", ", i);
  }
  const Program program = parse(text + "  return " + outputs + "\n}\n");
  const std::vector<PatternMatch> found = matches(program, patterns(R"(
method pair(%x: none) {
  %1: none = op.a.default(%x)
  %2: none = op.b.default(%x)
  return %1, %2
}
)"));
  EXPECT_THAT(found, SizeIs(max_match_users / 2));  // only the last users of a value are looked at
}

// Every node of the pattern fits in two ways, and the last one never does: the search gives up.
TEST(FindMatches, ABoundedNumberOfStepsIsTried) {
  std::string graph = "program\nmethod forward(%x: f32[2]) {\n  %v0: f32[2] = op.a.default(%x, %x)\n";
  std::string pattern = "method deep(%x: none, %y: none) {\n  %v0: none = op.b.default(%x)\n";
  for (int i = 1; i < 60; ++i) {
    graph += fmt::format("  %v{}: f32[2] = op.add.default(%v{}, %v{})\n", i, i - 1, i - 1);
    pattern += fmt::format("  %v{}: none = op.add.default(%v{}, %v{}) !any_order\n", i, i - 1, i - 1);
  }
  const Program program = parse(graph + "  return %v59\n}\n");
  EXPECT_THAT(matches(program, patterns(pattern + "  return %v59\n}\n")), IsEmpty());
}

TEST(FindMatches, PatternsHaveALimitedSize) {
  std::string text = "program\nmethod long(%x: none) {\n  %v0: none = op.a.default(%x)\n";
  for (std::size_t i = 1; i <= max_pattern_nodes; ++i)
    text += fmt::format("  %v{}: none = op.a.default(%v{})\n", i, i - 1);
  auto parsed = parse_patterns(text + fmt::format("  return %v{}\n}}\n", max_pattern_nodes));
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message, ::testing::HasSubstr("max_pattern_nodes"));
}

TEST(PatternPartitioner, AsksWhetherAMatchIsAcceptable) {
  const Program program = parse(R"(program
method forward(%x: f32[2], %y: f32[4]) {
  %a: f32[2] = op.a.default(%x)
  %b: f32[4] = op.a.default(%y)
  return %a, %b
}
)");
  PatternPartitioner partitioner(patterns(R"(
method a(%x: none) {
  %1: none = op.a.default(%x)
  return %1
}
)"),
                                 {.owner = "mine", .spec = {"Mine", {}}},
                                 [](const Pattern& pattern, const PatternMatch& match) {
                                   return pattern.name() == "a" && match.inputs[0]->tensor().sizes[0] == 4;
                                 });
  auto result = partitioner.partition(program, *program.methods[0]);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->node_tags.size(), 1U);
  EXPECT_EQ(result->node_tags[0].first->display_name(), "b");
}

}  // namespace
}  // namespace depute
