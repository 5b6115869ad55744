// The delegation contract: mutated buffers and inputs. docs/contract.md names these tests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/backend/partitioner.h"
#include "depute/backend/partitioners.h"
#include "depute/program/interpret.h"
#include "lowering_testing.h"
#include "tests/unit/refusal_log.h"

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
      result.partition_tags[Name("t")] = {"A", {}};
      for (const char* node : nodes) result.node_tags.emplace_back(find_node(*method.graph, node), Name("t"));
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
    ASSERT_TRUE(is_refused(lowered));
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
  ASSERT_TRUE(is_refused(lowered));
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
  ASSERT_TRUE(is_refused(lowered));
  EXPECT_EQ(lowered.error().code, "to_backend.split-state");
  EXPECT_THAT(lowered.error().message, HasSubstr("method read also uses it"));
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
  ASSERT_TRUE(is_refused(lowered));
  EXPECT_EQ(lowered.error().code, "to_backend.split-state");
  EXPECT_THAT(lowered.error().message, HasSubstr("another method"));
}

TEST(Contract, ProgramThatWritesToItsArgumentsIsRefused) {
  for (auto [first, second] : {std::pair{"!a0", ""}, {"", "!a0"}}) {
    auto lowered = to_backend(parse(fmt::format(R"(program
data "count": f32[1] = [0]
method forward(%count: f32[1] = buffer "count", %x: f32[1]) {{
  %next: f32[1] = aten.add_.Tensor(%count, %x) {} #1
  %y: f32[1] = aten.mul.Tensor(%count, %x) {} #2
  return %y
}}
)",
                                                first, second)),
                              TextPartitioner(), registry_of_a_and_b());
    ASSERT_TRUE(is_refused(lowered)) << print(lowered->program);
    EXPECT_EQ(lowered.error().code, "to_backend.not-functional");
    EXPECT_THAT(lowered.error().where, HasSubstr("next"));
  }
}

// --- buffers that nobody reads

constexpr std::string_view remembers = R"(program
data "last": f32[1] = [0]
method forward(%last: f32[1] = buffer "last", %x: f32[1]) {
  %square: f32[1] = aten.mul.Tensor(%x, %x) #1
  %out: f32[1] = aten.neg.default(%x) #2
  store buffer "last" = %square
  return %out
}
)";

// The buffer lies in the only delegate, which stores to it.
void expect_remembers(const Program& program) {
  expect_sound(program);
  ASSERT_EQ(program.delegates.size(), 1u);
  const Method& method = inner(*program.delegates[0]);
  ASSERT_FALSE(method.inputs.empty());
  EXPECT_EQ(method.inputs[0].kind, InputSpec::Kind::Buffer);
  EXPECT_EQ(method.inputs[0].target, "last");
  EXPECT_FALSE(method.graph->inputs()[0]->has_uses());
  EXPECT_EQ(method.outputs[0].kind, OutputSpec::Kind::BufferMutation);
  EXPECT_TRUE(program.data.empty());
  ProgramState state;
  for (float x : {2.0f, 3.0f}) {
    auto outputs = interpret(program, *program.methods[0], std::vector{floats({x})}, state);
    ASSERT_TRUE(outputs.has_value()) << outputs.error().str();
    EXPECT_EQ(first_float((*outputs)[0]), -x);
    EXPECT_EQ(first_float(state.delegates.at(program.delegates[0]->name)->data.at(Name("last"))), x * x);
  }
}

PartitionResult propose_all(const Program& program, const Method& method) {
  Proposal all{.support = [](const Node&) { return take(); },
               .options = {.owner = "t", .spec = {"Good", {}}}};
  all.options.moved_data = MovedData::ConstantsAndState;
  auto result = propose_partitions(program, method, all);
  EXPECT_TRUE(result.has_value()) << result.error().str();
  return std::move(*result);
}

Registry registry_of_good() {
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("Good", good));
  return registry;
}

TEST(Contract, BufferThatIsOnlyWrittenMovesWithItsWriter) {
  const WholeProgramPartitioner everything("t", {"Good", {}});
  const FunctionPartitioner state(propose_all);
  const FunctionPartitioner by_hand(tagging({{"square", "t0"}, {"out", "t0"}}, {{"last", "t0"}}));
  for (const Partitioner* partitioner :
       std::initializer_list<const Partitioner*>{&everything, &state, &by_hand}) {
    auto lowered = to_backend(parse(remembers), *partitioner, registry_of_good());
    ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
    expect_remembers(lowered->program);
  }
}

TEST(Contract, BufferThatIsOnlyWrittenInAnotherPlaceIsRefused) {
  auto lowered = to_backend(parse(remembers), FunctionPartitioner(tagging({{"out", "t0"}}, {{"last", "t0"}})),
                            registry_of_good());
  ASSERT_TRUE(is_refused(lowered));
  EXPECT_EQ(lowered.error().code, "to_backend.split-state");
  EXPECT_THAT(lowered.error().message, HasSubstr("read by nothing; written by %square (outside)"));
}

TEST(Contract, BufferWhoseOnlyReaderWasDroppedMovesInALaterLowering) {
  auto first = to_backend(parse(R"(program
data "last": f32[1] = [0]
method forward(%last: f32[1] = buffer "last", %x: f32[1]) {
  %unused: f32[1] = aten.neg.default(%last) #3
  %square: f32[1] = aten.mul.Tensor(%x, %x) #1
  %out: f32[1] = aten.neg.default(%x) #2
  store buffer "last" = %square
  return %out
}
)"),
                          FunctionPartitioner(tagging({{"unused", "t0"}})), registry_of_good());
  ASSERT_TRUE(first.has_value()) << first.error().str();
  ASSERT_TRUE(first->program.delegates.empty());
  ASSERT_FALSE(first->program.methods[0]->graph->inputs()[0]->has_uses());
  auto second = to_backend(first->program, FunctionPartitioner(propose_all), registry_of_good());
  ASSERT_TRUE(second.has_value()) << second.error().str();
  expect_remembers(second->program);
}

TEST(Contract, BufferThatAnotherMethodMutatesIsNoConstantForPartitioners) {
  Program program = parse(R"(program
data "count": f32[1] = [0]
method read(%count: f32[1] = buffer "count", %x: f32[1]) {
  %y: f32[1] = aten.add.Tensor(%count, %x) #1
  return %y
}
method write(%count: f32[1] = buffer "count", %x: f32[1]) {
  %next: f32[1] = aten.add.Tensor(%count, %x) #2
  store buffer "count" = %next
  return %next
}
)");
  auto lowered = to_backend(program, FunctionPartitioner(propose_all), registry_of_good());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  expect_sound(lowered->program);
  ProgramState state;
  for (auto [method, want] : {std::pair{0, 1.0f}, {1, 1.0f}, {0, 2.0f}, {1, 2.0f}, {0, 3.0f}}) {
    auto outputs = interpret(lowered->program, *lowered->program.methods[static_cast<std::size_t>(method)],
                             std::vector{floats({1})}, state);
    ASSERT_TRUE(outputs.has_value()) << outputs.error().str();
    EXPECT_EQ(first_float((*outputs)[0]), want);
  }
}

// --- one buffer under two names

// {0} and {1}: how the two readers are tagged, {2}: the writer; {3}: the role.
std::string counter_with_twins(std::string_view first, std::string_view second, std::string_view writer,
                               std::string_view role = "buffer") {
  auto tag = [](std::string_view name) { return name.empty() ? "" : fmt::format(" !{}", name); };
  return fmt::format(R"(program
data "count": f32[1] = [0]
method forward(%one: f32[1] = {3} "count", %two: f32[1] = {3} "count", %x: f32[1]) {{
  %a: f32[1] = aten.add.Tensor(%one, %x){0} #1
  %b: f32[1] = aten.mul.Tensor(%two, %x){1} #2
  %next: f32[1] = aten.add.Tensor(%a, 0){2} #3
  store {3} "count" = %next
  return %b
}}
)",
                     tag(first), tag(second), tag(writer), role);
}

TEST(Contract, TwoInputsOfOneMutatedBufferMoveTogether) {
  expect_counts(parse(counter_with_twins("", "", "")));
  for (const char* role : {"buffer", "param"}) {
    Lowered lowered = lower_text(counter_with_twins("a0", "a0", "a0", role));
    EXPECT_TRUE(lowered.program.data.empty());
    EXPECT_EQ(lowered.program.methods[0]->inputs.size(), 1u);
    ASSERT_EQ(lowered.program.delegates.size(), 1u);
    EXPECT_EQ(inner(*lowered.program.delegates[0]).inputs.size(), 2u);  // one state, and %x
    expect_counts(lowered.program);
  }
}

TEST(Contract, TwoInputsOfOneMutatedBufferAreOneInAWholeProgram) {
  auto delegate = to_backend("A", parse(counter_with_twins("", "", "")), {}, registry_of_a_and_b());
  ASSERT_TRUE(delegate.has_value()) << delegate.error().str();
  EXPECT_EQ(inner(*delegate).inputs.size(), 2u);  // one state, and %x
  EXPECT_EQ(inner(*delegate).graph->inputs().size(), 2u);
  EXPECT_TRUE(verify(*delegate->original).empty());
}

TEST(Contract, TwoInputsOfOneMutatedBufferSplitOverADelegateBoundaryAreRefused) {
  for (const char* role : {"buffer", "param"}) {
    for (auto [first, second, writer] :
         {std::tuple{"a0", "", "a0"}, {"a0", "a1", "a0"}, {"", "a0", ""}, {"a0", "a0", ""}}) {
      SCOPED_TRACE(counter_with_twins(first, second, writer, role));
      auto lowered = to_backend(parse(counter_with_twins(first, second, writer, role)), TextPartitioner(),
                                registry_of_a_and_b());
      ASSERT_TRUE(is_refused(lowered));
      EXPECT_EQ(lowered.error().code, "to_backend.split-state");
      EXPECT_THAT(lowered.error().message, HasSubstr("%b"));
    }
  }
}

// One of them is tagged as constant, and the other's readers lie in the same partition.
TEST(Contract, InputOfAMutatedBufferTakesItsTwinAlong) {
  auto lowered =
      to_backend(parse(counter_with_twins("", "", "")),
                 FunctionPartitioner(tagging({{"a", "t0"}, {"b", "t0"}, {"next", "t0"}}, {{"two", "t0"}})),
                 registry_of_good());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(lowered->program.methods[0]->inputs.size(), 1u);
  expect_counts(lowered->program);
}

std::string stored_twice(std::string_view last) {
  return fmt::format(R"(program
data "count": f32[1] = [0]
method forward(%count: f32[1] = buffer "count", %x: f32[1]) {{
  %old: f32[1] = aten.add.Tensor(%count, 0) !a0 #1
  %never: f32[1] = aten.mul.Tensor(%count, 7) {} #2
  %next: f32[1] = aten.add.Tensor(%count, %x) !a0 #3
  store buffer "count" = %never
  store buffer "count" = %next
  return %old
}}
)",
                     last);
}

TEST(Contract, TwoStoresToOneBufferMoveTogetherOrAreRefused) {
  expect_counts(parse(stored_twice("")));
  Lowered lowered = lower_text(stored_twice("!a0"));
  EXPECT_EQ(lowered.program.methods[0]->outputs.size(), 1u);
  expect_counts(lowered.program);
  // The reader is the same in both, so what is apart is the writer alone.
  std::string apart = stored_twice("!a1");
  apart.replace(apart.find("%count, 7"), 9, "%x, 7");
  auto refused = to_backend(parse(apart), TextPartitioner(), registry_of_a_and_b());
  ASSERT_TRUE(is_refused(refused));
  EXPECT_EQ(refused.error().code, "to_backend.split-state");
  EXPECT_THAT(refused.error().message, HasSubstr("written by %never (tag a1), %next (tag a0)"));
}

std::string read_in_a_body(std::string_view cond, std::string_view writer) {
  return fmt::format(R"(program
data "count": f32[1] = [0]
method forward(%count: f32[1] = buffer "count", %again: f32[1] = buffer "count", %x: f32[1]) {{
  graph @yes(%c: f32[1]) {{
    %y: f32[1] = aten.add.Tensor(%c, 0) #1
    return %y
  }}
  graph @no(%c: f32[1]) {{
    %n: f32[1] = aten.neg.default(%c) #2
    return %n
  }}
  %p: bool[1] = aten.gt.Scalar(%x, 0) #3
  %old: f32[1] = higher_order.cond(%p, @yes, @no, [%again]) {} #4
  %next: f32[1] = aten.add.Tensor(%count, %x) {} #5
  store buffer "count" = %next
  return %old
}}
)",
                     cond, writer);
}

TEST(Contract, MutatedBufferThatABodyReadsMovesWithTheNodeThatRunsTheBody) {
  expect_counts(parse(read_in_a_body("", "")));
  Lowered lowered = lower_text(read_in_a_body("!a0", "!a0"));
  EXPECT_TRUE(lowered.program.data.empty());
  expect_counts(lowered.program);
  for (auto [cond, writer] : {std::pair{"", "!a0"}, {"!a0", ""}, {"!a1", "!a0"}}) {
    auto refused = to_backend(parse(read_in_a_body(cond, writer)), TextPartitioner(), registry_of_a_and_b());
    ASSERT_TRUE(is_refused(refused));
    EXPECT_EQ(refused.error().code, "to_backend.split-state");
    EXPECT_THAT(refused.error().message, HasSubstr("%old"));
  }
}

}  // namespace
}  // namespace depute
