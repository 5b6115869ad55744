// The delegation contract: control flow, and questions about lowered programs. docs/contract.md names these
// tests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "depute/program/inspect.h"
#include "depute/program/interpret.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "lowering_testing.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view all_control_flow = R"(program
method forward(%n: i64[], %x: f32[2], %xs: f32[3, 2], %p: bool[]) {
  graph @then(%u: f32[2]) {
    %0: f32[2] = aten.neg.default(%u) {then}
    return %0
  }
  graph @else(%u: f32[2]) {
    %0: f32[2] = aten.add.Tensor(%u, %u) {else}
    return %0
  }
  graph @more(%k: i64[], %v: f32[2]) {
    %0: bool[] = aten.lt.Scalar(%k, 3) {more}
    return %0
  }
  graph @turn(%k: i64[], %v: f32[2]) {
    %0: i64[] = aten.add.Tensor(%k, %k)
    %1: f32[2] = aten.add.Tensor(%v, %v) {turn}
    return %0, %1
  }
  graph @each(%row: f32[2], %v: f32[2]) {
    %0: f32[2] = aten.mul.Tensor(%row, %v) {each}
    return %0
  }
  graph @step(%carry: f32[2], %row: f32[2]) {
    %0: f32[2] = aten.add.Tensor(%carry, %row) {step}
    %1: f32[2] = aten.neg.default(%0)
    return %0, %1
  }
  %a: f32[2] = higher_order.cond(%p, @then, @else, [%x]) {cond}
  %m: i64[], %b: f32[2] = higher_order.while_loop(@more, @turn, [%n, %a], [])
  %c: f32[3, 2] = higher_order.map_impl(@each, [%xs], [%b])
  %d: f32[2], %e: f32[3, 2] = higher_order.scan(@step, [%b], [%xs], [])
  return %m, %c, %d, %e
}
)";

std::string control_flow_with(std::set<std::string> tagged) {
  std::string text(all_control_flow);
  for (const char* place : {"then", "else", "more", "turn", "each", "step", "cond"}) {
    std::string mark = fmt::format(" {{{}}}", place);
    text.replace(text.find(mark), mark.size(), tagged.contains(place) ? fmt::format(" !a_{}", place) : "");
  }
  return text;
}

void expect_same_control_flow(const Program& before, const Program& after) {
  expect_sound(after);
  for (bool taken : {false, true}) {
    std::vector<RuntimeValue> inputs = {
        make_data<std::int64_t>(ScalarType::I64, {}, std::vector<std::int64_t>{1}), floats({1, -2}),
        make_data<float>(ScalarType::F32, {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}),
        make_data<bool>(ScalarType::Bool, {}, std::span(&taken, 1))};
    auto want = interpret(before, *before.methods[0], inputs);
    auto got = interpret(after, *after.methods[0], inputs);
    ASSERT_TRUE(want.has_value()) << want.error().str();
    ASSERT_TRUE(got.has_value()) << got.error().str();
    for (std::size_t i = 0; i < want->size(); ++i) {
      EXPECT_EQ(content_hash(std::get<TensorData>((*want)[i])),
                content_hash(std::get<TensorData>((*got)[i])));
    }
  }
}

TEST(Contract, BodiesOfAllControlFlowAreLowered) {
  std::string text = control_flow_with({"then", "else", "more", "turn", "each", "step"});
  Program program = parse(text);
  Lowered lowered = lower_text(text);
  EXPECT_THAT(delegate_names(lowered.program),
              ElementsAre("a_then", "a_else", "a_more", "a_turn", "a_each", "a_step"));
  expect_same_control_flow(program, lowered.program);
}

TEST(Contract, WholeControlFlowNodeIsTakenWithItsBodies) {
  std::string text = control_flow_with({"cond", "turn"});
  Program program = parse(text);
  Lowered lowered = lower_text(text);
  EXPECT_THAT(delegate_names(lowered.program), ElementsAre("a_cond", "a_turn"));
  EXPECT_EQ(inner(*lowered.program.delegates[0]).bodies.size(), 2u);
  EXPECT_EQ(lowered.program.methods[0]->bodies.size(), 4u);
  expect_same_control_flow(program, lowered.program);
}

// With a place for a tag of the control flow.
constexpr std::string_view one_tag_in_two_graphs = R"(program
method forward(%x: f32[2], %p: bool[]) {{
  graph @then(%u: f32[2]) {{
    %s: f32[2] = aten.neg.default(%u) !a0
    return %s
  }}
  %a: f32[2] = aten.neg.default(%x) !a0
  %b: f32[2] = higher_order.cond(%p, @then, @then, [%a]){}
  return %b
}}
)";

// ExecuTorch's partitioners tag control flow and the nodes of its bodies alike.
TEST(Contract, NodesOfBodiesMayHaveTheTagOfTheNodeThatTakesThem) {
  Lowered lowered = lower_text(fmt::format(one_tag_in_two_graphs, " !a0"));
  expect_sound(lowered.program);
  EXPECT_THAT(delegate_names(lowered.program), ElementsAre("a0"));
  ASSERT_EQ(lowered.verdicts.size(), 3u);
  for (const NodeVerdict& verdict : lowered.verdicts) {
    EXPECT_TRUE(verdict.verdict.delegated) << verdict.node.str() << ": " << verdict.verdict.rule;
    EXPECT_EQ(verdict.delegate.str(), "a0") << verdict.node.str();
  }
}

TEST(Contract, OneTagInTwoGraphsIsADelegateInEach) {
  Lowered lowered = lower_text(fmt::format(one_tag_in_two_graphs, ""));
  expect_sound(lowered.program);
  EXPECT_THAT(delegate_names(lowered.program), ElementsAre("a0", "a0_1"));
  EXPECT_EQ(get_delegates(lowered.program).size(), 2u);
}

TEST(Inspect, CountsOpensDelegatesAndBodies) {
  std::string text = control_flow_with({"then", "turn", "step"});
  Lowered lowered = lower_text(text);
  DelegationInfo info = get_delegation_info(lowered.program);
  EXPECT_EQ(summary_lines(info),
            "Total delegated subgraphs: 3\nNumber of delegated nodes: 3\nNumber of non-delegated nodes: 9\n");
  EXPECT_EQ(info.ops.at("aten.add.Tensor"), (std::pair<std::uint64_t, std::uint64_t>(2, 2)));
  EXPECT_EQ(get_non_lowered_nodes(lowered.program).size(), 9u);
}

TEST(Inspect, DelegateThatIsCalledTwiceHasOnePayload) {
  Lowered lowered = lower_text(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.neg.default(%x) !a0
  return %a
}
)");
  Graph& graph = *lowered.program.methods[0]->graph;
  Node& call = *graph.first();
  Node* again = graph.add(call.op(), {call.arg(0), Argument::of(call.result())}, {},
                          {{Name("again"), call.result()->type()}});
  std::vector<Argument> outputs = {Argument::of(again->result())};
  graph.set_outputs(outputs);
  EXPECT_EQ(get_delegates(lowered.program).size(), 2u);
  auto payloads = get_delegated_payload(lowered.program);
  ASSERT_EQ(payloads.size(), 1u);
  EXPECT_EQ(payloads.at("a0").backend_id, "A");
  EXPECT_EQ(text_of(*payloads.at("a0").processed_bytes), "aten.neg.default;");
}

TEST(Inspect, PrintedProgramShowsBackendsAndWhatDelegatesWereMadeFrom) {
  Lowered lowered = lower_text(control_flow_with({"then"}));
  std::string text = print_delegated_program(lowered.program);
  EXPECT_THAT(text, HasSubstr("backend \"A\""));
  EXPECT_THAT(text, HasSubstr("original"));
  EXPECT_THAT(text, HasSubstr("graph @then"));
  auto again = parse_program(text);
  ASSERT_TRUE(again.has_value()) << again.error().str();
  EXPECT_TRUE(equal(*again, lowered.program));
}

}  // namespace
}  // namespace depute
