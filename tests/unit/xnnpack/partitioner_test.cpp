#include "backends/xnnpack/xnnpack_partitioner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/xnnpack/op_rule.h"
#include "tests/unit/parse.h"

namespace depute::xnnpack {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::unique_ptr<Partitioner> made(const BackendOptions& options = {}) {
  auto partitioner = make_xnnpack_partitioner(options);
  EXPECT_TRUE(partitioner) << partitioner.error().str();
  return std::move(*partitioner);
}

// "name: rule" of each node, or "name: tag".
std::vector<std::string> decisions(const Program& program, const Partitioner& partitioner) {
  const Method& method = *program.methods[0];
  auto result = partitioner.partition(program, method);
  EXPECT_TRUE(result) << result.error().str();
  std::map<const Node*, Name> tags(result->node_tags.begin(), result->node_tags.end());
  std::vector<std::string> lines;
  for (const auto& [node, verdict] : result->verdicts) {
    const std::string answer = verdict.delegated ? std::string(tags.at(node).str()) : verdict.rule;
    lines.push_back(std::string(node->display_name()) + ": " + answer);
  }
  return lines;
}

TEST(Partitioner, TakesWhatItCanInFewestRegions) {
  const Program program = parse(R"(program
method forward(%x: f32[2, 3]) {
  %a: f32[2, 3] = aten.relu.default(%x)
  %b: f32[2, 3] = aten.tan.default(%a)
  %c: f32[2, 3] = aten.exp.default(%x)
  %d: f32[2, 3] = aten.mul.Tensor(%b, %c)
  return %d
}
)");
  EXPECT_THAT(decisions(program, *made()), ElementsAre("a: xnnpack0", "b: op", "c: xnnpack1", "d: xnnpack1"));
}

TEST(Partitioner, GivesAReasonForEachRefusal) {
  const Program program = parse(R"(program
dim s0 in [1, 8]
dim s1 in [1, inf]
data "w": f32[4, 3] = random(1)
method forward(%w: f32[4, 3] = param "w", %i: i64[3], %x: f32[2, 3], %u: f32[s1], %e: f32[0], %s: sym_int[s0], %big: f32[1, 1, 1, 1, 1, 1, 2], %t: f32[2, 3]{strides=[1, 2]}) {
  %dtype: i64[3] = aten.neg.default(%i)
  %unbounded: f32[s1] = aten.neg.default(%u)
  %zero: f32[0] = aten.neg.default(%e)
  %symbolic: f32[2, 3] = aten.mul.Scalar(%x, %s)
  %rank: f32[1, 1, 1, 1, 1, 1, 2] = aten.neg.default(%big)
  %argument: f32[2, 3] = aten.pow.Tensor_Scalar(%x, 5)
  %layout: f32[2, 3] = aten.neg.default(%t)
  %kernel: f32[2, 3], %mean: f32[2, 1], %rstd: f32[2, 1] = aten.native_layer_norm.default(%x, [3], none, none, 1e-05)
  return %dtype, %unbounded, %zero, %symbolic, %rank, %argument, %layout, %kernel
}
)");
  EXPECT_THAT(decisions(program, *made()),
              ElementsAre("dtype: dtype", "unbounded: unbounded", "zero: zero-size", "symbolic: symbolic",
                          "rank: rank", "argument: argument", "layout: layout", "kernel: kernel"));
}

TEST(Partitioner, UsesOnlyTheRulesItNames) {
  for (const OpRule* rule : all_op_rules()) EXPECT_NE(rule->translate, nullptr) << rule->op;
  EXPECT_TRUE(std::ranges::is_sorted(refusal_rules(), {}, &RefusalRule::id));
}

TEST(Partitioner, LeavesIslandsThatComputeNothing) {
  const Program program = parse(R"(program
method forward(%x: f32[2, 4], %y: f32[2, 4]) {
  %s: f32[2, 2] = aten.slice.Tensor(%x, 1, 0, 2)
  %v: f32[4] = aten.view.default(%s, [4])
  %c: f32[4, 4] = aten.cat.default([%y, %y])
  %n: f32[4, 4] = aten.neg.default(%c)
  return %v, %n
}
)");
  EXPECT_THAT(decisions(program, *made()),
              ElementsAre("s: no-compute", "v: no-compute", "c: xnnpack0", "n: xnnpack0"));
}

TEST(Partitioner, MovesConstantsButNotMutatedBuffers) {
  const Program program = parse(R"(program
data "w": f32[3] = random(1)
data "state": f32[3] = random(2)
method forward(%w: f32[3] = param "w", %state: f32[3] = buffer "state", %x: f32[3]) {
  %a: f32[3] = aten.mul.Tensor(%x, %w)
  %next: f32[3] = aten.add.Tensor(%a, %state)
  store buffer "state" = %next
  return %a
}
)");
  auto result = made()->partition(program, *program.methods[0]);
  ASSERT_TRUE(result) << result.error().str();
  ASSERT_EQ(result->constant_tags.size(), 1U);
  EXPECT_EQ(result->constant_tags[0].first->name(), "w");
}

TEST(Partitioner, TakesLayerNormOnRequest) {
  const Program program = parse(R"(program
method forward(%x: f32[2, 3]) {
  %y: f32[2, 3], %mean: f32[2, 1], %rstd: f32[2, 1] = aten.native_layer_norm.default(%x, [3], none, none, 1e-05)
  return %y
}
)");
  EXPECT_THAT(decisions(program, *made({{"layer_norm", "true"}})), ElementsAre("y: xnnpack0"));
}

TEST(Partitioner, RefusesUnknownOptions) {
  for (const auto& option : BackendOptions{{"layer_norm", "maybe"}, {"color", "red"}}) {
    EXPECT_FALSE(make_xnnpack_partitioner({option})) << option.first;
  }
}

TEST(Partitioner, KeepsWholeOnlyWhatItWillTake) {
  const Program program = parse(R"(program
method forward(%x: f32[2, 3], %w: f32[4, 3], %i: f64[2, 3], %j: f64[4, 3]) {
  %a: f32[2, 4] = aten.linear.default(%x, %w)
  %b: f64[2, 4] = aten.linear.default(%i, %j)
  return %a, %b
}
)");
  const OpsToNotDecompose kept = made()->ops_to_not_decompose(program);
  const Node* first = program.methods[0]->graph->first();
  EXPECT_TRUE(kept.filter(*first));
  EXPECT_FALSE(kept.filter(*first->next()));
}

}  // namespace
}  // namespace depute::xnnpack
