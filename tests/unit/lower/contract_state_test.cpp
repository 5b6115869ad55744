// The delegation contract: mutated buffers and inputs. docs/contract.md names these tests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/interpret.h"
#include "lowering_testing.h"

namespace depute {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view counter = R"(program
data "count": f32[1] = [0]
method forward(%count: f32[1] = buffer "count", %x: f32[1]) {
  %old: f32[1] = aten.mul.Tensor(%count, %x){tags0} #1
  %next: f32[1] = aten.add.Tensor(%count, %x){tags1} #2
  %neg: f32[1] = aten.neg.default(%old){tags2} #3
  %out: f32[1] = aten.neg.default(%neg) #4
  store buffer "count" = %next
  return %out
}
)";

std::string counter_with(std::string_view old, std::string_view next, std::string_view neg) {
  std::string text(counter);
  for (auto [place, tag] : {std::pair{"{tags0}", old}, {"{tags1}", next}, {"{tags2}", neg}}) {
    text.replace(text.find(place), 7, tag.empty() ? "" : fmt::format(" !{}", tag));
  }
  return text;
}

void expect_counts(const Program& program) {
  expect_sound(program);
  ProgramState state;
  for (float want : {0.0f, 1.0f, 2.0f}) {
    auto outputs = interpret(program, *program.methods[0], std::vector{floats({1})}, state);
    ASSERT_TRUE(outputs.has_value()) << outputs.error().str();
    EXPECT_EQ(first_float((*outputs)[0]), want);
  }
}

TEST(Contract, MutatedBufferWhollyInsideADelegateMovesInWithItsMutation) {
  Lowered lowered = lower_text(counter_with("a0", "a0", "a0"));
  const Method& outer = *lowered.program.methods[0];
  EXPECT_TRUE(lowered.program.data.empty());
  EXPECT_EQ(outer.outputs.size(), 1u);
  const Method& method = inner(*lowered.program.delegates[0]);
  EXPECT_EQ(method.inputs[0].kind, InputSpec::Kind::Buffer);
  EXPECT_EQ(method.outputs[0].kind, OutputSpec::Kind::BufferMutation);
  EXPECT_EQ(outer.graph->first()->results().size(), 1u);
  expect_counts(lowered.program);
}

TEST(Contract, MutatedBufferThatIsNotTaggedStaysAndCounts) {
  Program program = parse(counter_with("", "", ""));
  for (auto nodes : {std::vector<const char*>{"next"}, {"old"}, {"old", "neg"}}) {
    FunctionPartitioner partitioner([&](auto&, const Method& method) {
      PartitionResult result;
      result.partition_tags[Symbol("t")] = {"A", {}};
      for (const char* node : nodes)
        result.node_tags.emplace_back(find_node(*method.graph, node), Symbol("t"));
      return result;
    });
    auto lowered = to_backend(program, partitioner, registry_of_a_and_b());
    ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
    expect_counts(lowered->program);
  }
}

TEST(Contract, MutatedBufferSplitOverADelegateBoundaryIsRefused) {
  for (auto [old, next] : {std::pair{"a0", ""}, {"", "a0"}, {"a0", "a1"}}) {
    auto lowered = to_backend(parse(counter_with(old, next, "")), TextPartitioner(), registry_of_a_and_b());
    ASSERT_FALSE(lowered.has_value());
    EXPECT_EQ(lowered.error().code, "to_backend.split-state");
  }
}

TEST(Contract, MutationChainHalfDelegatedIsRefusedOrStays) {
  std::string_view text = R"(program
data "b": f32[1] = [1]
method forward(%b: f32[1] = buffer "b", %x: f32[1]) {
  %0: f32[1] = aten.add.Tensor(%b, %x) !a0 #1
  %1: f32[1] = aten.mul.Tensor(%0, %x) #2
  store buffer "b" = %1
  return %1
}
)";
  auto lowered = to_backend(parse(text), TextPartitioner(), registry_of_a_and_b());
  ASSERT_FALSE(lowered.has_value());
  EXPECT_EQ(lowered.error().code, "to_backend.split-state");
}

TEST(Contract, MutatedBufferOfTwoMethodsDoesNotMove) {
  auto lowered = to_backend(parse(R"(program
data "count": f32[1] = [0]
method read(%count: f32[1] = buffer "count", %x: f32[1]) {
  %y: f32[1] = aten.add.Tensor(%count, %x) #1
  store buffer "count" = %count
  return %y
}
method write(%count: f32[1] = buffer "count", %x: f32[1]) {
  %next: f32[1] = aten.add.Tensor(%count, %x) !a0 #2
  store buffer "count" = %next
  return %next
}
)"),
                            TextPartitioner(), registry_of_a_and_b());
  ASSERT_FALSE(lowered.has_value());
  EXPECT_EQ(lowered.error().code, "to_backend.split-state");
  EXPECT_THAT(lowered.error().message, HasSubstr("method read uses it too"));
}

TEST(Contract, MutatedValueMayAlsoBeAResult) {
  Lowered lowered = lower_text(R"(program
data "count": f32[1] = [0]
method forward(%count: f32[1] = buffer "count", %x: f32[1]) {
  %next: f32[1] = aten.add.Tensor(%count, %x) !a0 #1
  store buffer "count" = %next
  return %next, %next
}
)");
  expect_sound(lowered.program);
  EXPECT_EQ(inner(*lowered.program.delegates[0]).outputs.size(), 2u);
  ProgramState state;
  for (float want : {1.0f, 2.0f}) {
    auto outputs = interpret(lowered.program, *lowered.program.methods[0], std::vector{floats({1})}, state);
    ASSERT_TRUE(outputs.has_value()) << outputs.error().str();
    EXPECT_EQ(first_float((*outputs)[1]), want);
  }
}

TEST(Contract, DelegateThatOnlyChangesStateStaysWithoutResults) {
  Lowered lowered = lower_text(R"(program
data "count": f32[1] = [0]
method forward(%count: f32[1] = buffer "count", %x: f32[1]) {
  %next: f32[1] = aten.add.Tensor(%count, %x) !a0 #1
  store buffer "count" = %next
  return %x
}
)");
  expect_sound(lowered.program);
  const Graph& graph = *lowered.program.methods[0]->graph;
  ASSERT_EQ(op_names(graph), "delegate.call;");
  EXPECT_THAT(graph.first()->results(), IsEmpty());
}

TEST(Contract, MutationOfAUserInputStaysOutside) {
  Lowered lowered = lower_text(R"(program
method forward(%x: f32[1]) {
  %next: f32[1] = aten.add.Tensor(%x, %x) !a0 #1
  store input "x" = %next
  return %next
}
)");
  expect_sound(lowered.program);
  EXPECT_EQ(lowered.program.methods[0]->outputs[0].kind, OutputSpec::Kind::UserInputMutation);
  EXPECT_EQ(inner(*lowered.program.delegates[0]).outputs[0].kind, OutputSpec::Kind::UserOutput);
}

TEST(Contract, MutationsComeFirstAmongADelegatesOutputs) {
  Lowered lowered = lower_text(R"(program
data "count": f32[1] = [0]
method forward(%count: f32[1] = buffer "count", %x: f32[1]) {
  %y: f32[1] = aten.mul.Tensor(%count, %x) !a0 #1
  %next: f32[1] = aten.add.Tensor(%count, %x) !a0 #2
  store buffer "count" = %next
  return %y
}
)");
  const Method& method = inner(*lowered.program.delegates[0]);
  EXPECT_EQ(method.outputs[0].kind, OutputSpec::Kind::BufferMutation);
  EXPECT_EQ(method.graph->outputs()[0].as_value()->name(), "next");
  EXPECT_EQ(method.graph->outputs()[1].as_value()->name(), "y");
  // The call's results are what the caller gets, and nothing else.
  EXPECT_EQ(lowered.program.methods[0]->graph->first()->results().size(), 1u);
}

TEST(Contract, BufferThatAnotherMethodMutatesDoesNotMove) {
  auto lowered = to_backend(parse(R"(program
data "count": f32[1] = [0]
method read(%count: f32[1] = buffer "count", %x: f32[1]) {
  %y: f32[1] = aten.add.Tensor(%count, %x) !a0 #1
  return %y
}
method write(%count: f32[1] = buffer "count", %x: f32[1]) {
  %next: f32[1] = aten.add.Tensor(%count, %x) #2
  store buffer "count" = %next
  return %next
}
)"),
                            TextPartitioner(), registry_of_a_and_b());
  ASSERT_FALSE(lowered.has_value());
  EXPECT_EQ(lowered.error().code, "to_backend.split-state");
  EXPECT_THAT(lowered.error().message, HasSubstr("another method"));
}

}  // namespace
}  // namespace depute
