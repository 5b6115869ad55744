// The delegation contract, row by row: docs/contract.md names these tests. Here: value types, the forms of
// to_backend, constants and carving. State, control flow and nesting are in the files beside this one, what
// wrong partitioners and backends get told in wrong_test.cpp, random programs in random_lowering_test.cpp.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "depute/backend/partitioners.h"
#include "depute/program/inspect.h"
#include "depute/program/interpret.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "lowering_testing.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- value types, backends, dispatch

TEST(Contract, CompileSpecsReachTheBackendAndTheDelegate) {
  std::vector<CompileSpec> specs = {{"max_value", {std::byte{4}}}, {"empty", {}}};
  class Keeper : public Backend {
   public:
    std::string_view id() const override { return "Keeper"; }
    Result<PreprocessResult> preprocess(const Program& program,
                                        std::span<const CompileSpec> given) const override {
      seen.assign(given.begin(), given.end());
      return good(program);
    }
    mutable std::vector<CompileSpec> seen;
  };
  Registry registry;
  auto keeper = std::make_unique<Keeper>();
  const Keeper& seen = *keeper;
  add(registry, std::move(keeper));
  FunctionPartitioner partitioner([&](auto&, const Method& method) {
    PartitionResult result;
    result.partition_tags[Name("t")] = {"Keeper", specs};
    result.node_tags.emplace_back(method.graph->first(), Name("t"));
    return result;
  });
  auto lowered = to_backend(
      parse("program\nmethod forward(%x: f32[2]) {\n  %a: f32[2] = aten.neg.default(%x)\n  return %a\n}\n"),
      partitioner, registry);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(seen.seen, specs);
  EXPECT_EQ(lowered->program.delegates[0]->compile_specs, specs);

  std::vector<CompileSpec> others = {{"other", {std::byte{7}}}};
  auto whole = to_backend(
      "Keeper",
      parse("program\nmethod forward(%x: f32[2]) {\n  %a: f32[2] = aten.neg.default(%x)\n  return %a\n}\n"),
      others, registry);
  ASSERT_TRUE(whole.has_value()) << whole.error().str();
  EXPECT_EQ(seen.seen, others);
  EXPECT_EQ(whole->compile_specs, others);
}

constexpr std::string_view two_methods = R"(program
method encode(%x: f32[2]) {
  %a: f32[2] = aten.neg.default(%x) !a0
  %b: f32[2] = aten.tan.default(%a)
  %c: f32[2] = aten.relu.default(%b) !b0
  return %c
}
method decode(%x: f32[2]) {
  %a: f32[2] = aten.sin.default(%x) !a0
  %b: f32[2] = aten.tan.default(%a)
  %c: f32[2] = aten.cos.default(%b) !a1
  return %c
}
)";

TEST(Contract, EachBackendIsCalledOnceWithThePartitionsOfAllMethodsInProgramOrder) {
  std::vector<std::string> calls;
  auto recording = [&](const std::string& id) {
    return [&calls, id](std::span<const MethodPartitions> methods) -> Result<std::vector<MethodResults>> {
      std::string call = id;
      std::vector<MethodResults> all;
      for (const auto& [method, partitions] : methods) {
        all.push_back({method, {}});
        for (const Partition& partition : partitions) {
          call += fmt::format(" {}:{}", method, op_names(*partition.program->methods.front()->graph));
          all.back().results.push_back(*good(*partition.program));
        }
      }
      calls.push_back(call);
      std::ranges::reverse(all);  // methods may come back in any order
      return all;
    };
  };
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("A", good, recording("A")));
  add(registry, std::make_unique<FunctionBackend>("B", good, recording("B")));
  auto lowered = to_backend(parse(two_methods), TextPartitioner(), registry);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_THAT(calls,
              ElementsAre("A encode:aten.neg.default; decode:aten.sin.default; decode:aten.cos.default;",
                          "B encode:aten.relu.default;"));
}

TEST(Contract, DelegatesAreNumberedByMethodThenGraphThenCall) {
  Lowered lowered = lower_text(two_methods);
  EXPECT_THAT(delegate_names(lowered.program), ElementsAre("a0", "b0", "a0_1", "a1"));
}

TEST(Contract, MethodsWithoutAPartitionerStayAsTheyAre) {
  Program program = parse(two_methods);
  TextPartitioner partitioner;
  auto lowered = to_backend(program, {{"decode", &partitioner}}, registry_of_a_and_b());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(op_names(*lowered->program.find_method("encode")->graph),
            op_names(*program.find_method("encode")->graph));
  EXPECT_EQ(lowered->program.methods[0]->name, "encode");
  EXPECT_EQ(lowered->program.delegates.size(), 2u);
}

TEST(Contract, WholeProgramBecomesOneDelegateWhateverItsTags) {
  auto delegate = to_backend("A", parse(R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[2] = aten.mul.Tensor(%x, %w) !b7
  return %a, 3
}
)"),
                             {}, registry_of_a_and_b());
  ASSERT_TRUE(delegate.has_value()) << delegate.error().str();
  EXPECT_EQ(text_of(*delegate->processed_bytes), "aten.mul.Tensor;");
  EXPECT_EQ(delegate->backend_id, "A");
}

TEST(Contract, DelegateStandingAloneIsAProgramOfOneCall) {
  auto delegate = to_backend("A", parse(R"(program
data "count": f32[1] = [5]
data "lifted": f32[1] = [2]
method forward(%lifted: f32[1] = constant "lifted", %count: f32[1] = buffer "count", %x: f32[1]) {
  %next: f32[1] = aten.add.Tensor(%count, %lifted) #1
  %y: f32[1] = aten.mul.Tensor(%next, %x) #2
  store buffer "count" = %next
  return %y, 3
}
)"),
                             {}, registry_of_a_and_b());
  ASSERT_TRUE(delegate.has_value()) << delegate.error().str();
  Program alone = as_program(*delegate).value();
  expect_sound(alone);
  EXPECT_EQ(op_names(*alone.methods[0]->graph), "delegate.call;");
  EXPECT_THAT(names(alone.methods[0]->graph->inputs()), ElementsAre("x"));
  ProgramState state;
  for (float want : {7.0f, 9.0f, 11.0f}) {
    auto outputs = interpret(alone, *alone.methods[0], std::vector{floats({1})}, state);
    ASSERT_TRUE(outputs.has_value()) << outputs.error().str();
    EXPECT_EQ(first_float((*outputs)[0]), want);
    EXPECT_EQ(std::get<std::int64_t>((*outputs)[1]), 3);
  }
}

TEST(Contract, DelegateWithoutItsOriginalCannotStandAlone) {
  Delegate delegate{.name = Name("d"), .backend_id = "A", .processed_bytes = storage_of("ok")};
  auto alone = as_program(delegate);
  ASSERT_FALSE(alone.has_value());
  EXPECT_EQ(alone.error().where, "delegate d");
  EXPECT_THAT(alone.error().message, HasSubstr("does not have its original program"));
  delegate.original = std::make_shared<const Program>();
  EXPECT_FALSE(as_program(delegate).has_value());
}

TEST(Contract, DelegateStandingAloneKeepsTheMutationOfAUserInput) {
  auto delegate = to_backend("A", parse(R"(program
method forward(%x: f32[1], %y: f32[1]) {
  %next: f32[1] = aten.add.Tensor(%x, %y)
  %z: f32[1] = aten.neg.default(%next)
  store input "x" = %next
  return %z
}
)"),
                             {}, registry_of_a_and_b());
  ASSERT_TRUE(delegate.has_value()) << delegate.error().str();
  Program alone = as_program(*delegate).value();
  expect_sound(alone);
  const Method& method = *alone.methods[0];
  ASSERT_EQ(method.outputs.size(), 2u);
  EXPECT_EQ(method.outputs[0].kind, OutputSpec::Kind::UserInputMutation);
  EXPECT_EQ(method.outputs[0].target, "x");
  EXPECT_EQ(method.graph->outputs()[0].as_value(), method.graph->first()->result(0));
  EXPECT_EQ(method.outputs[1].kind, OutputSpec::Kind::UserOutput);
  EXPECT_EQ(method.graph->outputs()[1].as_value(), method.graph->first()->result(1));
}

TEST(Contract, DelegateInfoIsKept) {
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("A", [](const Program& program) {
        Result<PreprocessResult> result = good(program);
        result->delegate_info = "made by " + op_names(*program.methods[0]->graph);
        return result;
      }));
  Program program = parse(
      "program\nmethod forward(%x: f32[2]) {\n  %a: f32[2] = aten.neg.default(%x) !a0\n  return %a\n}\n");
  auto lowered = to_backend(program, TextPartitioner(), registry);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(lowered->program.delegates[0]->delegate_info, "made by aten.neg.default;");
  auto whole = to_backend("A", program, {}, registry);
  ASSERT_TRUE(whole.has_value()) << whole.error().str();
  EXPECT_EQ(whole->delegate_info, "made by aten.neg.default;");
}

template <typename... Given>
constexpr bool can_be_lowered =
    requires(Given... given, Registry registry) { to_backend(given..., registry); };

TEST(Contract, OtherArgumentsDoNotCompile) {
  EXPECT_TRUE((can_be_lowered<Program&, TextPartitioner>));
  EXPECT_TRUE((can_be_lowered<Program&, MethodPartitioners>));
  EXPECT_TRUE((can_be_lowered<const char*, Program&, std::vector<CompileSpec>>));
  EXPECT_FALSE((can_be_lowered<Program&>));
  EXPECT_FALSE((can_be_lowered<int>));
  EXPECT_FALSE((can_be_lowered<Program&, int>));
  EXPECT_FALSE((can_be_lowered<Graph&, TextPartitioner>));
  EXPECT_FALSE((can_be_lowered<Program&, const char*, std::vector<CompileSpec>>));
}

TEST(Contract, PartitionsRunOnAsManyThreadsAsAreAllowed) {
  // Each partition waits until the other one has begun, which one thread alone cannot bring about.
  std::atomic<int> begun = 0;
  std::set<std::thread::id> threads;
  std::mutex mutex;
  int expected = 2;
  auto meet = [&](const Program& program) {
    ++begun;
    for (int turn = 0; turn < 10000 && begun < expected; ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    return good(program);
  };
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("A", meet));
  Program program = parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.neg.default(%x) !a0
  %b: f32[2] = aten.tan.default(%a)
  %c: f32[2] = aten.relu.default(%b) !a1
  return %c
}
)");
  ASSERT_TRUE(to_backend(program, TextPartitioner(), registry, {.jobs = 2}).has_value());
  EXPECT_EQ(threads.size(), 2u);
  threads.clear();
  expected = 0;
  ASSERT_TRUE(to_backend(program, TextPartitioner(), registry, {.jobs = 1}).has_value());
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

// --- constants

TEST(Contract, ConstantThatNothingUsesLiesInTheDelegateItIsTaggedFor) {
  Program program = parse(R"(program
data "idle": f32[2] = [5, 6]
data "w": f32[2] = [1, 2]
method forward(%idle: f32[2] = param "idle", %w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[2] = aten.mul.Tensor(%x, %w)
  %b: f32[2] = aten.tan.default(%a)
  %c: f32[2] = aten.neg.default(%b)
  %dead: f32[2] = aten.neg.default(%x)
  return %c
}
)");
  auto lowered = [&](std::initializer_list<std::pair<const char*, const char*>> nodes,
                     std::vector<std::pair<const char*, const char*>> constants) {
    Registry registry;
    add(registry, std::make_unique<FunctionBackend>("Good", good));
    auto result = to_backend(program, FunctionPartitioner(tagging(nodes, constants)), registry);
    EXPECT_TRUE(result.has_value()) << result.error().str();
    expect_sound(result->program);
    return std::move(result->program);
  };
  Program once = lowered({{"a", "t"}}, {{"idle", "t"}, {"w", "t"}});
  EXPECT_TRUE(once.data.empty());
  EXPECT_THAT(names(inner(*once.delegates[0]).graph->inputs()), ElementsAre("w", "idle", "x"));
  EXPECT_EQ(once.delegates[0]->original->data.size(), 2u);
  // In one place: the first of several delegates, and the method where its delegate disappears.
  Program twice = lowered({{"a", "t"}, {"c", "s"}}, {{"idle", "s"}, {"idle", "t"}});
  EXPECT_TRUE(twice.delegates[0]->original->data.contains(Name("idle")));
  EXPECT_FALSE(twice.delegates[1]->original->data.contains(Name("idle")));
  EXPECT_FALSE(twice.data.contains(Name("idle")));
  Program none = lowered({{"dead", "t"}}, {{"idle", "t"}});
  EXPECT_TRUE(none.delegates.empty());
  EXPECT_TRUE(none.data.contains(Name("idle")));
}

TEST(Contract, WholeProgramTakesConstantsThatNothingUsesAlong) {
  Program program = parse(R"(program
data "idle": f32[2] = [5, 6]
method forward(%idle: f32[2] = buffer "idle", %x: f32[2]) {
  %a: f32[2] = aten.neg.default(%x)
  return %a
}
)");
  auto lowered = to_backend(program, WholeProgramPartitioner("all", {"A", {}}), registry_of_a_and_b());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  expect_sound(lowered->program);
  EXPECT_TRUE(lowered->program.data.empty());
  EXPECT_TRUE(lowered->program.delegates[0]->original->data.contains(Name("idle")));
}

TEST(Contract, ConstantOfSeveralTagsIsCopiedPerTagAndSharesItsStorage) {
  Program program = parse(R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[2] = aten.mul.Tensor(%x, %w) !a0
  %b: f32[2] = aten.add.Tensor(%a, %w) !a0
  %c: f32[2] = aten.tan.default(%b)
  %d: f32[2] = aten.mul.Tensor(%c, %w) !a1
  return %d
}
)");
  auto lowered = to_backend(program, TextPartitioner(), registry_of_a_and_b());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_TRUE(lowered->program.data.empty());
  for (const auto& delegate : lowered->program.delegates) {
    ASSERT_EQ(delegate->original->data.size(), 1u);  // one, though two nodes of a0 use it
    EXPECT_EQ(delegate->original->data.begin()->second.storage, program.data.begin()->second.storage);
  }
}

TEST(Contract, ConstantNamedLikeACopyIsNoCollision) {
  Lowered lowered = lower_text(R"(program
data "w": f32[2] = [1, 2]
data "w_copy_0": f32[2] = [3, 4]
method forward(%w: f32[2] = buffer "w", %w_copy_0: f32[2] = buffer "w_copy_0", %x: f32[2]) {
  %a: f32[2] = aten.mul.Tensor(%x, %w) !a0
  %b: f32[2] = aten.mul.Tensor(%a, %w_copy_0) !a0
  %c: f32[2] = aten.mul.Tensor(%b, %w)
  %d: f32[2] = aten.mul.Tensor(%c, %w_copy_0)
  return %d
}
)");
  expect_sound(lowered.program);
  EXPECT_EQ(lowered.program.data.size(), 2u);
}

TEST(Contract, ConstantInAListArgumentMoves) {
  Lowered lowered = lower_text(R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[6] = aten.cat.default([%x, %w, %w]) !a0
  return %a
}
)");
  expect_sound(lowered.program);
  EXPECT_TRUE(lowered.program.data.empty());
}

TEST(Contract, ConstantThatIsAnOperandOfControlFlowStaysForIt) {
  Lowered lowered = lower_text(R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2], %p: bool[]) {
  graph @then(%u: f32[2]) {
    %t: f32[2] = aten.neg.default(%u)
    return %t
  }
  %a: f32[2] = aten.mul.Tensor(%x, %w) !a0
  %b: f32[2] = higher_order.cond(%p, @then, @then, [%w])
  %c: f32[2] = aten.add.Tensor(%a, %b)
  return %c
}
)");
  expect_sound(lowered.program);
  EXPECT_EQ(lowered.program.data.size(), 1u);
  EXPECT_EQ(lowered.program.delegates[0]->original->data.size(), 1u);
}

TEST(Contract, ConstantThatIsReturnedStaysForTheCaller) {
  Lowered lowered = lower_text(R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[2] = aten.mul.Tensor(%x, %w) !a0
  return %a, %w
}
)");
  expect_sound(lowered.program);
  EXPECT_EQ(lowered.program.data.size(), 1u);
}

TEST(Contract, KindsAndPersistenceOfConstantsAreKept) {
  Lowered lowered = lower_text(R"(program
data "b": f32[2] = [1, 2]
data "c": f32[2] = [1, 2]
data "t": f32[2] = [1, 2]
data "w": f32[2] = [1, 2]
method forward(%c: f32[2] = constant "c", %t: f32[2] = buffer transient "t", %b: f32[2] = buffer "b", %w: f32[2] = param "w", %x: f32[2]) {
  %0: f32[2] = aten.mul.Tensor(%x, %c) !a0
  %1: f32[2] = aten.mul.Tensor(%0, %t) !a0
  %2: f32[2] = aten.mul.Tensor(%1, %b) !a0
  %3: f32[2] = aten.mul.Tensor(%2, %w) !a0
  return %3
}
)");
  const Method& method = inner(*lowered.program.delegates[0]);
  // Parameters, buffers, constants, then the arguments.
  EXPECT_THAT(names(method.graph->inputs()), ElementsAre("w", "t", "b", "c", "x"));
  EXPECT_FALSE(method.inputs[1].persistent);
  EXPECT_TRUE(method.inputs[2].persistent);
  EXPECT_EQ(method.inputs[3].kind, InputSpec::Kind::Constant);
  EXPECT_EQ(method.inputs[4].kind, InputSpec::Kind::UserInput);
}

TEST(Contract, DelegateOfConstantsAloneHasNoArguments) {
  Lowered lowered = lower_text(R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[2] = aten.neg.default(%w) !a0
  %b: f32[2] = aten.tan.default(%a)
  return %b
}
)");
  EXPECT_EQ(lowered.program.methods[0]->graph->first()->args().size(), 1u);
}

// --- carving

TEST(Contract, ArgumentsComeInTheOrderInWhichNodesUseThem) {
  Lowered lowered = lower_text(R"(program
method forward(%x: f32[2], %y: f32[2], %z: f32[2]) {
  %a: f32[2] = aten.add.Tensor(%z, %x) !a0
  %b: f32[2] = aten.add.Tensor(%a, %y) !a0
  return %b
}
)");
  EXPECT_THAT(names(inner(*lowered.program.delegates[0]).graph->inputs()), ElementsAre("z", "x", "y"));
  const Node& call = *lowered.program.methods[0]->graph->first();
  EXPECT_EQ(call.arg(1).as_value()->name(), "z");
  EXPECT_EQ(call.arg(3).as_value()->name(), "y");
}

// What backend.h and docs/backends.md say of a partition's program, in one place.
TEST(Contract, PartitionHasConstantsThenArgumentsAndMutationsThenResults) {
  Lowered lowered = lower_text(R"(program
data "b": f32[2] = [1, 2]
data "c": f32[2] = [1, 2]
data "w": f32[2] = [1, 2]
method forward(%x: f32[2], %y: f32[2], %c: f32[2] = constant "c", %b: f32[2] = buffer "b", %w: f32[2] = param "w") {
  %0: f32[2] = aten.mul.Tensor(%y, %c) !a0
  %1: f32[2] = aten.mul.Tensor(%0, %x) !a0
  %2: f32[2] = aten.mul.Tensor(%1, %b) !a0
  %3: f32[2] = aten.mul.Tensor(%2, %w) !a0
  store buffer "b" = %3
  return %1, %0
}
)");
  const Method& method = inner(*lowered.program.delegates[0]);
  EXPECT_THAT(names(method.graph->inputs()), ElementsAre("w", "b", "c", "y", "x"));
  std::vector<std::string> outputs;
  for (const Argument& output : method.graph->outputs())
    outputs.emplace_back(output.as_value()->name().str());
  EXPECT_THAT(outputs, ElementsAre("3", "0", "1"));
}

TEST(Contract, ValuesKeepTheirNamesWhateverTagsAreCalled) {
  Lowered lowered = lower_text(R"(program
method forward(%x: f32[2]) {
  %b: f32[2] = aten.neg.default(%x) !a0
  %c: f32[2] = aten.neg.default(%b) !a0
  %a0: f32[2] = aten.tan.default(%b)
  %a0_1: f32[2] = aten.add.Tensor(%a0, %c)
  return %a0_1
}
)");
  const Graph& graph = *lowered.program.methods[0]->graph;
  EXPECT_THAT(names(graph.first()->results()), ElementsAre("a0_2", "a0_3"));
  EXPECT_EQ(graph.first()->next()->display_name(), "a0");
  EXPECT_EQ(graph.last()->display_name(), "a0_1");
  EXPECT_THAT(delegate_names(lowered.program), ElementsAre("a0"));
}

TEST(Contract, ResultsComeInNodeOrder) {
  Lowered lowered = lower_text(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.neg.default(%x) !a0
  %b: f32[2] = aten.relu.default(%a) !a0
  %c: f32[2] = aten.tan.default(%b) !a0
  return %c, %a
}
)");
  const Method& method = inner(*lowered.program.delegates[0]);
  EXPECT_EQ(method.graph->outputs()[0].as_value()->name(), "a");
  EXPECT_EQ(method.graph->outputs()[1].as_value()->name(), "c");
  const Graph& graph = *lowered.program.methods[0]->graph;
  EXPECT_EQ(graph.outputs()[0].as_value(), graph.first()->result(1));
}

TEST(Contract, PartitionThatNobodyNeedsDisappears) {
  Lowered lowered = lower_text(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.neg.default(%x) !a0
  %b: f32[2] = aten.relu.default(%a) !a1
  return %x
}
)");
  expect_sound(lowered.program);
  EXPECT_EQ(lowered.program.delegates.size(), 1u);  // a0: a1 uses it
}

TEST(Contract, OpWithSeveralResultsMayBeTakenWithoutItsUsers) {
  Lowered lowered = lower_text(R"(program
method forward(%x: f32[4]) {
  %a: f32[2], %b: f32[2] = aten.split_with_sizes.default(%x, [2, 2]) !a0
  %c: f32[2] = aten.neg.default(%a)
  %d: f32[2] = aten.neg.default(%b)
  %e: f32[4] = aten.neg.default(%x) !a0
  return %c, %d, %e
}
)");
  expect_sound(lowered.program);
  EXPECT_EQ(lowered.program.methods[0]->graph->first()->results().size(), 3u);
}

TEST(Contract, SingleSymbolicResultIsAValueOfItsOwn) {
  std::string_view text = R"(program
dim s0 in [1, 8]
method forward(%x: f32[s0, 2]) {
  %n: sym_int[s0] = aten.sym_size.int(%x, 0) !a0
  %m: sym_int[s0*2] = _operator.mul(%n, 2)
  %y: f32[s0*2] = aten.view.default(%x, [%m])
  return %y
}
)";
  Program program = parse(text);
  Lowered lowered = lower_text(text);
  expect_sound(lowered.program);
  EXPECT_EQ(lowered.program.methods[0]->graph->first()->result()->type().kind, Type::Kind::SymInt);
  RuntimeValue input = make_data<float>(ScalarType::F32, {2, 2}, std::vector<float>{1, 2, 3, 4});
  auto want = interpret(program, *program.methods[0], std::vector{input});
  auto got = interpret(lowered.program, *lowered.program.methods[0], std::vector{input});
  ASSERT_TRUE(want.has_value() && got.has_value());
  EXPECT_EQ(content_hash(std::get<TensorData>((*want)[0])), content_hash(std::get<TensorData>((*got)[0])));
}

TEST(Contract, CustomObjectStaysAnArgument) {
  Lowered lowered = lower_text(R"(program
method forward(%o: custom_obj["ns.Class"] = object "obj", %x: f32[2]) {
  %a: f32[2] = my_ops.call.default(%o, %x) !a0
  return %a
}
)");
  expect_sound(lowered.program);
  EXPECT_EQ(lowered.program.methods[0]->inputs[0].kind, InputSpec::Kind::CustomObj);
  EXPECT_EQ(inner(*lowered.program.delegates[0]).graph->inputs()[0]->type().kind, Type::Kind::CustomObj);
}

TEST(Contract, SymbolicArgumentsKeepTheirType) {
  Lowered lowered = lower_text(R"(program
dim s0 in [1, 8]
method forward(%x: f32[s0, 2]) {
  %n: sym_int[s0] = aten.sym_size.int(%x, 0)
  %y: f32[s0, 2] = aten.view.default(%x, [%n, 2]) !a0
  return %y
}
)");
  EXPECT_EQ(inner(*lowered.program.delegates[0]).graph->inputs()[1]->type().kind, Type::Kind::SymInt);
}

TEST(Contract, TagsAreGoneAfterLoweringAndMayBeUsedAgain) {
  std::string_view text = R"(program
method forward(%x: f32[2], %p: bool[]) {
  graph @then(%u: f32[2]) {
    %s: f32[2], %r: f32[0] = aten.split_with_sizes.default(%u, [2, 0]) !a0
    %t: f32[2] = aten.tan.default(%s)
    return %t
  }
  graph @else(%u: f32[2]) {
    return %u
  }
  %a: f32[2] = aten.neg.default(%x) !a0
  %b: f32[2] = higher_order.cond(%p, @then, @else, [%a])
  return %b
}
)";
  Lowered first = lower_text(text);
  for (const Graph* graph : graphs_below(*first.program.methods[0]->graph)) {
    for (const Node& node : graph->nodes()) EXPECT_TRUE(node.tag.empty()) << node.display_name();
  }
  // The same tag again, on what the first lowering left.
  FunctionPartitioner again([](auto&, const Method& method) {
    PartitionResult result;
    for (const Graph* graph : graphs_of(method)) {
      for (const Node& node : graph->nodes()) {
        if (node.op() != "aten.tan.default") continue;
        result.partition_tags[Name("a0")] = {"B", {}};
        result.node_tags.emplace_back(&node, Name("a0"));
      }
    }
    return result;
  });
  auto second = to_backend(first.program, again, registry_of_a_and_b());
  ASSERT_TRUE(second.has_value()) << second.error().str();
  expect_sound(second->program);
  EXPECT_THAT(delegate_names(second->program), ElementsAre("a0", "a0_1", "a0_2"));
}

TEST(Contract, DebugHandlesOfCallsAreUniqueOverTheProgram) {
  Lowered lowered = lower_text(R"(program
method forward(%x: f32[2], %p: bool[]) {
  graph @then(%u: f32[2]) {
    %s: f32[2] = aten.neg.default(%u) !a0 #9
    return %s
  }
  graph @else(%u: f32[2]) {
    %s: f32[2] = aten.relu.default(%u) !a1 #4
    return %s
  }
  %a: f32[2] = aten.neg.default(%x) !a0 #1
  %b: f32[2] = higher_order.cond(%p, @then, @else, [%a]) #2
  return %b
}
)");
  std::set<std::uint32_t> handles;
  for (const DelegateCall& call : get_delegates(lowered.program)) {
    EXPECT_GT(call.call->debug_handle, 9u);
    EXPECT_TRUE(handles.insert(call.call->debug_handle).second);
  }
  EXPECT_EQ(handles.size(), 3u);
}

TEST(Contract, TwoThousandNodesWithEightyTagsAreCarvedInOnePass) {
  std::string text = "program\nmethod forward(%v0: f32[2]) {\n";
  for (int i = 0; i < 2000; ++i) {
    text += fmt::format("  %v{}: f32[2] = aten.neg.default(%v{})", i + 1, i);
    if (i % 25 != 0) text += fmt::format(" !a{}", i / 25);
    text += "\n";
  }
  Program program = parse(text + "  return %v2000\n}\n");
  auto lowered = to_backend(program, TextPartitioner(), registry_of_a_and_b());
  ASSERT_TRUE(lowered.has_value());
  EXPECT_EQ(lowered->program.delegates.size(), 80u);
  expect_sound(lowered->program);
}

TEST(Contract, LoweringTwiceGivesTheSame) {
  Program program = parse(two_methods);
  auto once = to_backend(program, TextPartitioner(), registry_of_a_and_b());
  auto again = to_backend(program, TextPartitioner(), registry_of_a_and_b(), {.jobs = 4});
  ASSERT_TRUE(once.has_value() && again.has_value());
  EXPECT_EQ(first_difference(once->program, again->program), std::nullopt);
}

// Tags say who takes a node, whatever the verdicts say.
TEST(Contract, VerdictsFollowFromTags) {
  const Program program = parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.neg.default(%x)
  %b: f32[2] = aten.tan.default(%a)
  %c: f32[2] = aten.neg.default(%b)
  %d: f32[2] = aten.relu.default(%c)
  return %d
}
)");
  const FunctionPartitioner partitioner([](const Program&, const Method& method) {
    PartitionResult result = tags(method, {{"a", "t0"}, {"d", "t1"}}, "A");
    result.verdicts.emplace_back(find_node(*method.graph, "b"), Verdict{.rule = "op"});
    result.verdicts.emplace_back(find_node(*method.graph, "c"), Verdict{.delegated = true, .owner = "mine"});
    result.verdicts.emplace_back(find_node(*method.graph, "d"), Verdict{.rule = "op"});
    return result;
  });
  auto lowered = to_backend(program, partitioner, registry_of_a_and_b());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  std::vector<std::string> verdicts;
  for (const NodeVerdict& verdict : lowered->verdicts) {
    verdicts.push_back(std::string(verdict.node.str()) + " " + std::string(verdict.delegate.str()) + " " +
                       verdict.verdict.owner + " " + verdict.verdict.rule);
  }
  EXPECT_EQ(verdicts, (std::vector<std::string>{"a t0 A ", "b   op", "c   untagged", "d t1 A "}));
}

}  // namespace
}  // namespace depute
