// The delegation contract, row by row: docs/contract.md names these tests. What wrong partitioners and
// backends get told is in wrong_test.cpp, random programs in random_lowering_test.cpp.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>

#include "ir/equal.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "kernels/interpret.h"
#include "lower/inspect.h"
#include "lower/named_data_store.h"
#include "lowering_testing.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void expect_sound(const Program& program) {
  std::vector<Diagnostic> faults = verify(program);
  EXPECT_TRUE(faults.empty()) << faults.front().str() << "\n" << print(program);
  for (const auto& delegate : program.delegates) {
    if (delegate->original != nullptr) expect_sound(*delegate->original);
  }
}

std::vector<std::string> names(std::span<Value* const> values) {
  std::vector<std::string> list;
  for (const Value* value : values) list.emplace_back(value->name().str());
  return list;
}

std::vector<std::string> delegate_names(const Program& program) {
  std::vector<std::string> list;
  for (const auto& delegate : program.delegates) list.emplace_back(delegate->name.str());
  return list;
}

const Method& inner(const Delegate& delegate) {
  return *delegate.original->methods.front();
}

Content floats(std::vector<float> numbers) {
  return make_data<float>(ScalarType::F32, {static_cast<std::int64_t>(numbers.size())}, numbers);
}

float first_float(const Content& content) {
  TensorData data = std::get<TensorData>(content).contiguous();
  return *reinterpret_cast<const float*>(data.dense_bytes().data());
}

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
    result.partition_tags[Symbol("t")] = {"Keeper", specs};
    result.node_tags.emplace_back(method.graph->first(), Symbol("t"));
    return result;
  });
  auto lowered = to_backend(
      parse("program\nmethod forward(%x: f32[2]) {\n  %a: f32[2] = aten.neg.default(%x)\n  return %a\n}\n"),
      partitioner, registry);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(seen.seen, specs);
  EXPECT_EQ(lowered->program.delegates[0]->compile_specs, specs);
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

TEST(Contract, EachBackendIsCalledOnceWithThePartitionsOfAllMethods) {
  std::vector<std::string> calls;
  auto recording = [&](const std::string& id) {
    return [&calls, id](const Backend::MethodPrograms& programs) -> Result<Backend::MethodResults> {
      std::string call = id;
      Backend::MethodResults results;
      for (const auto& [method, list] : programs) {
        for (const Program* program : list) {
          call += fmt::format(" {}:{}", method, op_names(*program->methods.front()->graph));
          results[method].push_back(*good(*program));
        }
      }
      calls.push_back(call);
      return results;
    };
  };
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("A", good, recording("A")));
  add(registry, std::make_unique<FunctionBackend>("B", good, recording("B")));
  auto lowered = to_backend(parse(two_methods), TextPartitioner(), registry);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_THAT(calls,
              ElementsAre("A decode:aten.sin.default; decode:aten.cos.default; encode:aten.neg.default;",
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
  Program alone = as_program(*delegate);
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

// --- constants

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
  Content input = make_data<float>(ScalarType::F32, {2, 2}, std::vector<float>{1, 2, 3, 4});
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
    %s: f32[2], %r: f32[2] = aten.split_with_sizes.default(%u, [1, 1]) !a0
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
    for (const Graph* graph : graphs_below(*method.graph)) {
      for (const Node& node : graph->nodes()) {
        if (node.op() != "aten.tan.default") continue;
        result.partition_tags[Symbol("a0")] = {"B", {}};
        result.node_tags.emplace_back(&node, Symbol("a0"));
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

// --- state

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

// --- control flow

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
    std::vector<Content> inputs = {
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

TEST(Contract, OneTagInTwoGraphsIsADelegateInEach) {
  Lowered lowered = lower_text(R"(program
method forward(%x: f32[2], %p: bool[]) {
  graph @then(%u: f32[2]) {
    %s: f32[2] = aten.neg.default(%u) !a0
    return %s
  }
  %a: f32[2] = aten.neg.default(%x) !a0
  %b: f32[2] = higher_order.cond(%p, @then, @then, [%a])
  return %b
}
)");
  expect_sound(lowered.program);
  EXPECT_THAT(delegate_names(lowered.program), ElementsAre("a0", "a0_1"));
  EXPECT_EQ(get_delegates(lowered.program).size(), 2u);
}

// --- nested and repeated lowering

TEST(Contract, SeveralPartitionersRunOneAfterAnother) {
  Program program = parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.neg.default(%x)
  %b: f32[2] = aten.relu.default(%a)
  %c: f32[2] = aten.tan.default(%b)
  return %c
}
)");
  auto first = to_backend(program, FunctionPartitioner([](auto&, const Method& method) {
                            return tags(method, {{"a", "one"}}, "A");
                          }),
                          registry_of_a_and_b());
  ASSERT_TRUE(first.has_value()) << first.error().str();
  auto second = to_backend(first->program, FunctionPartitioner([](auto&, const Method& method) {
                             return tags(method, {{"c", "two"}}, "B");
                           }),
                           registry_of_a_and_b());
  ASSERT_TRUE(second.has_value()) << second.error().str();
  expect_sound(second->program);
  EXPECT_EQ(op_names(*second->program.methods[0]->graph), "delegate.call;aten.relu.default;delegate.call;");
}

TEST(Contract, DelegateMayBePartOfAnotherDelegateWithItsNamedData) {
  Program program = parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.neg.default(%x) #1
  %b: f32[2] = aten.relu.default(%a) #2
  return %b
}
)");
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("A", [](const Program& given) {
        Result<PreprocessResult> result = name_ops(given);
        result->data_store_output.push_back({.key = "weights", .storage = bytes_of("w"), .alignment = 64});
        return result;
      }));
  add(registry, std::make_unique<FunctionBackend>("B", name_ops));
  auto first = to_backend(program, FunctionPartitioner([](auto&, const Method& method) {
                            return tags(method, {{"a", "inside"}}, "A");
                          }),
                          registry);
  ASSERT_TRUE(first.has_value()) << first.error().str();
  auto second = to_backend(first->program, FunctionPartitioner([](auto&, const Method& method) {
                             PartitionResult result;
                             result.partition_tags[Symbol("outside")] = {"B", {}};
                             for (const Node& node : method.graph->nodes())
                               result.node_tags.emplace_back(&node, Symbol("outside"));
                             return result;
                           }),
                           registry);
  ASSERT_TRUE(second.has_value()) << second.error().str();
  expect_sound(second->program);
  EXPECT_THAT(delegate_names(second->program), ElementsAre("outside"));
  EXPECT_THAT(delegate_names(*second->program.delegates[0]->original), ElementsAre("inside"));
  EXPECT_EQ(text_of(*second->program.delegates[0]->processed_bytes), "delegate.call;aten.relu.default;");
  auto data = merge_named_data(second->program);
  ASSERT_TRUE(data.has_value());
  ASSERT_EQ(data->entries().size(), 1u);
  EXPECT_EQ(data->entries()[0].alignment, 64u);
  auto outputs = interpret(second->program, *second->program.methods[0], std::vector{floats({-1, 2})});
  ASSERT_TRUE(outputs.has_value()) << outputs.error().str();
  EXPECT_EQ(first_float((*outputs)[0]), 1.0f);
}

TEST(Contract, BackendMayLowerInsidePreprocess) {
  Registry inner_registry = registry_of_a_and_b();
  Registry registry;
  add(registry,
      std::make_unique<FunctionBackend>("Outer", [&](const Program& program) -> Result<PreprocessResult> {
        TRY(Delegate delegate, to_backend("A", program, {}, inner_registry));
        return PreprocessResult{.processed_bytes =
                                    bytes_of("outer(" + text_of(*delegate.processed_bytes) + ")")};
      }));
  auto delegate = to_backend(
      "Outer",
      parse("program\nmethod forward(%x: f32[2]) {\n  %a: f32[2] = aten.neg.default(%x)\n  return %a\n}\n"),
      {}, registry);
  ASSERT_TRUE(delegate.has_value()) << delegate.error().str();
  EXPECT_EQ(text_of(*delegate->processed_bytes), "outer(aten.neg.default;)");
}

TEST(Contract, LoweringTwiceGivesTheSame) {
  Program program = parse(two_methods);
  auto once = to_backend(program, TextPartitioner(), registry_of_a_and_b());
  auto again = to_backend(program, TextPartitioner(), registry_of_a_and_b(), {.jobs = 4});
  ASSERT_TRUE(once.has_value() && again.has_value());
  EXPECT_EQ(first_difference(once->program, again->program), std::nullopt);
}

// --- named data

TEST(NamedData, EqualKeysAndBytesAreOneEntryWithTheStrictestAlignment) {
  NamedDataStore store;
  ASSERT_TRUE(store.add("k", bytes_of("abc"), 16).has_value());
  ASSERT_TRUE(store.add("k", bytes_of("abc"), 64).has_value());
  ASSERT_TRUE(store.add("k", bytes_of("abc"), 4).has_value());
  ASSERT_EQ(store.entries().size(), 1u);
  EXPECT_EQ(store.entries()[0].alignment, 64u);
}

TEST(NamedData, OneKeyWithTwoContentsIsRefused) {
  NamedDataStore store;
  ASSERT_TRUE(store.add({.key = "k", .storage = bytes_of("abc")}, "delegate one").has_value());
  Status again = store.add({.key = "k", .storage = bytes_of("abd")}, "delegate two");
  ASSERT_FALSE(again.has_value());
  EXPECT_THAT(again.error().str(), HasSubstr("delegate one"));
  EXPECT_THAT(again.error().str(), HasSubstr("delegate two"));
}

// --- questions about lowered programs

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
                          {{Symbol("again"), call.result()->type()}});
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
