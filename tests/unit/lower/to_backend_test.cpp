// to_backend and carving: what moves, what stays, and in which order.
#include "depute/compiler/to_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/backend/partitioners.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "depute/program/walk.h"
#include "ir/verify.h"
#include "tests/unit/parse.h"
#include "tests/unit/refusal_log.h"

namespace depute {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Writes the names of the ops it got.
class EchoBackend : public Backend {
 public:
  std::string_view id() const override { return "Echo"; }
  Result<PreprocessResult> preprocess(const Program& program, std::span<const CompileSpec>) const override {
    std::string text;
    for (const Node& node : program.methods[0]->graph->nodes()) text += std::string(node.op().str()) + ";";
    return PreprocessResult{.processed_bytes = storage_of(text)};
  }
};

Registry registry_with(std::unique_ptr<Backend> backend) {
  Registry registry;
  BackendEntry entry;
  entry.name = std::string(backend->id());
  entry.backend = std::move(backend);
  EXPECT_TRUE(registry.add(std::move(entry)).has_value());
  return registry;
}

Result<Lowered> lower(const Program& program, int jobs = 1) {
  Registry registry = registry_with(std::make_unique<EchoBackend>());
  return to_backend(program, TaggedPartitioner({"Echo", {}}), registry, {.jobs = jobs});
}

std::string blob(const Delegate& delegate) {
  auto bytes = delegate.processed_bytes->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr std::string_view shared_constant = R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[2] = aten.mul.Tensor(%x, %w) !t0 #1
  %b: f32[2] = aten.tan.default(%a) #2
  %c: f32[2] = aten.mul.Tensor(%b, %w) !t1 #3
  %d: f32[2] = aten.add.Tensor(%c, %w) !t1 #4
  return %d
}
)";

TEST(ToBackend, SharedConstantIsGivenToEachTagOnceAndLeavesTheMethod) {
  Program program = parse(shared_constant);
  auto lowered = lower(program);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  const Program& result = lowered->program;
  ASSERT_EQ(result.delegates.size(), 2u);
  EXPECT_EQ(blob(*result.delegates[0]), "aten.mul.Tensor;");
  EXPECT_EQ(blob(*result.delegates[1]), "aten.mul.Tensor;aten.add.Tensor;");
  EXPECT_TRUE(result.data.empty());
  EXPECT_EQ(result.methods[0]->graph->inputs().size(), 1u);
  for (const auto& delegate : result.delegates) {
    ASSERT_EQ(delegate->original->data.size(), 1u);
    EXPECT_EQ(delegate->original->data.begin()->second.storage, program.data.begin()->second.storage);
    EXPECT_EQ(delegate->original->methods[0]->inputs[0].kind, InputSpec::Kind::Parameter);
    EXPECT_TRUE(verify(*delegate->original).empty());
  }
  EXPECT_TRUE(verify(result).empty());
}

// Takes places as i32.
class NarrowBackend : public EchoBackend {
 public:
  ScalarType border_type(ScalarType type, std::span<const CompileSpec> /*compile_specs*/) const override {
    return type == ScalarType::I64 ? ScalarType::I32 : type;
  }
};

TEST(ToBackend, ResultsOfOneDelegateReachAnotherWithoutConversions) {
  Program program = parse(R"(program
data "w": f32[5, 2] = random(1)
method forward(%w: f32[5, 2] = param "w", %x: f32[3, 5]) {
  %a: i64[3] = aten.argmax.default(%x, 1) !t0 #1
  %b: f32[3, 2] = aten.embedding.default(%w, %a) !t1 #2
  return %b
}
)");
  Registry registry = registry_with(std::make_unique<NarrowBackend>());
  auto lowered = to_backend(program, TaggedPartitioner({"Echo", {}}), registry, {});
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_THAT(print(lowered->program), HasSubstr(R"(method forward(%x: f32[3, 5]) {
  %t0: i32[3] = delegate.call(@t0, %x) #3
  %t1: f32[3, 2] = delegate.call(@t1, %t0) #4
  return %t1
})"));
}

TEST(ToBackend, ValuesCrossTheBorderInTheTypeThatTheBackendWants) {
  Program program = parse(R"(program
data "w": f32[5, 2] = random(1)
method forward(%w: f32[5, 2] = param "w", %t: i64[3]) {
  %a: f32[3, 2] = aten.embedding.default(%w, %t) !t0 #1
  %b: i64[3] = aten.argmax.default(%a, 1) !t0 #2
  %c: f32[3, 2] = aten.tan.default(%a) #3
  %d: f32[3, 2] = aten.embedding.default(%w, %t) !t1 #4
  %e: f32[3, 2] = aten.add.Tensor(%c, %d) !t1 #5
  return %e, %b
}
)");
  Registry registry = registry_with(std::make_unique<NarrowBackend>());
  auto lowered = to_backend(program, TaggedPartitioner({"Echo", {}}), registry, {});
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  const std::string text = print(lowered->program);
  EXPECT_THAT(text, HasSubstr(R"(method forward(%t: i64[3]) {
  %t_1: i32[3] = dim_order_ops._to_dim_order_copy.default(%t, dtype=.i32))"));
  EXPECT_THAT(text, HasSubstr("delegate.call(@t0, %t_1)"));
  EXPECT_THAT(text, HasSubstr("i64[3] = dim_order_ops._to_dim_order_copy.default(%t0_1, dtype=.i64)"));
  EXPECT_THAT(text, HasSubstr("delegate.call(@t1, %t_1, %c)"));  // the conversion is shared
  EXPECT_EQ(blob(*lowered->program.delegates[0]),
            "dim_order_ops._to_dim_order_copy.default;aten.embedding.default;aten.argmax.default;"
            "dim_order_ops._to_dim_order_copy.default;");
  EXPECT_TRUE(verify_input(lowered->program).has_value());
}

TEST(ToBackend, InputProgramIsUnchanged) {
  Program program = parse(shared_constant);
  Program before = clone(program);
  ASSERT_TRUE(lower(program).has_value());
  EXPECT_TRUE(equal(program, before));
}

TEST(ToBackend, ConstantUsedOutsideStaysToo) {
  Program program = parse(R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[2] = aten.mul.Tensor(%x, %w) !t0
  %b: f32[2] = aten.add.Tensor(%a, %w)
  return %b, %w
}
)");
  auto lowered = lower(program);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(lowered->program.methods[0]->graph->inputs().size(), 2u);
  EXPECT_EQ(lowered->program.data.size(), 1u);
  EXPECT_EQ(lowered->program.delegates[0]->original->data.size(), 1u);
}

TEST(ToBackend, NodesThatAPartitionNeedsComeBeforeItsCall) {
  auto lowered = lower(parse(R"(program
method forward(%x: f32[2], %y: f32[2]) {
  %a: f32[2] = aten.sin.default(%x) !t
  %b: f32[2] = aten.cos.default(%y)
  %c: f32[2] = aten.add.Tensor(%a, %b) !t
  %d: f32[2] = aten.neg.default(%b)
  return %c, %d
}
)"));
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(op_names(*lowered->program.methods[0]->graph),
            "aten.cos.default;delegate.call;aten.neg.default;");
}

TEST(ToBackend, CycleThroughAnOutsideNodeIsRefusedWithItsPath) {
  auto lowered = lower(parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.sin.default(%x) !t
  %b: f32[2] = aten.cos.default(%a)
  %c: f32[2] = aten.add.Tensor(%a, %b) !t
  return %c
}
)"));
  ASSERT_TRUE(is_refused(lowered));
  EXPECT_THAT(lowered.error().message, HasSubstr("partition t -> %b -> partition t"));
}

TEST(ToBackend, TwoPartitionsThatNeedEachOtherAreRefused) {
  auto lowered = lower(parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.sin.default(%x) !p
  %b: f32[2] = aten.cos.default(%x) !q
  %c: f32[2] = aten.add.Tensor(%a, %b) !p
  %d: f32[2] = aten.mul.Tensor(%a, %b) !q
  return %c, %d
}
)"));
  ASSERT_TRUE(is_refused(lowered));
  EXPECT_THAT(lowered.error().message, HasSubstr("partition p -> partition q -> partition p"));
}

TEST(ToBackend, UnrelatedPiecesOfOneTagAreOneDelegate) {
  auto lowered = lower(parse(R"(program
method forward(%x: f32[2], %y: f32[2]) {
  %a: f32[2] = aten.sin.default(%x) !t
  %b: f32[2] = aten.cos.default(%y) !t
  return %b, %a
}
)"));
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  ASSERT_EQ(lowered->program.delegates.size(), 1u);
  const Node* call = lowered->program.methods[0]->graph->first();
  EXPECT_EQ(call->results().size(), 2u);
  EXPECT_EQ(lowered->program.methods[0]->graph->outputs()[0].as_value(), call->result(1));
}

TEST(ToBackend, DeadPartitionDisappears) {
  auto lowered = lower(parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.sin.default(%x) !t
  return %x
}
)"));
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_TRUE(lowered->program.delegates.empty());
}

TEST(ToBackend, ConstantInsideAListMoves) {
  auto lowered = lower(parse(R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[4] = aten.cat.default([%x, %w]) !t
  return %a
}
)"));
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(lowered->program.methods[0]->graph->first()->args().size(), 2u);
}

TEST(ToBackend, EqualTagsOfTwoMethodsGetTwoDelegates) {
  auto lowered = lower(parse(R"(program
method encode(%x: f32[2]) {
  %a: f32[2] = aten.sin.default(%x) !t
  return %a
}
method decode(%x: f32[2]) {
  %a: f32[2] = aten.cos.default(%x) !t
  return %a
}
)"));
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  ASSERT_EQ(lowered->program.delegates.size(), 2u);
  EXPECT_EQ(lowered->program.delegates[0]->name, "t");
  EXPECT_EQ(lowered->program.delegates[1]->name, "t_1");
}

TEST(ToBackend, ThreadsDoNotChangeTheResult) {
  std::string text = "program\nmethod forward(%v0: f32[2]) {\n";
  for (int i = 0; i < 200; ++i) {
    text += "  %v" + std::to_string(i + 1) + ": f32[2] = aten.sin.default(%v" + std::to_string(i) + ")";
    if (i % 3 != 0) text += " !t" + std::to_string(i / 3);
    text += "\n";
  }
  Program program = parse(text + "  return %v200\n}\n");
  auto one = lower(program, 1);
  auto four = lower(program, 4);
  ASSERT_TRUE(one.has_value() && four.has_value());
  EXPECT_EQ(first_difference(one->program, four->program), std::nullopt);
}

TEST(ToBackend, VerdictsNameTheirMethodGraphAndNode) {
  class RefusesAll : public Partitioner {
    Result<PartitionResult> partition(const Program&, const Method& method) const override {
      PartitionResult result;
      for (const Graph* graph : graphs_of(method))
        for (const Node& node : graph->nodes()) result.verdicts.emplace_back(&node, Verdict{.rule = "op"});
      return result;
    }
  };
  Program program = parse(R"(program
method f(%p: bool[], %x: f32[2]) {
  graph @yes(%a: f32[2]) {
    %sin: f32[2] = aten.sin.default(%a)
    return %sin
  }
  graph @no(%a: f32[2]) {
    %cos: f32[2] = aten.cos.default(%a)
    return %cos
  }
  %y: f32[2] = higher_order.cond(%p, @yes, @no, [%x])
  return %y
}
)");
  Registry registry = registry_with(std::make_unique<EchoBackend>());
  auto lowered = to_backend(program, RefusesAll(), registry);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  std::vector<std::string> places;
  for (const NodeVerdict& verdict : lowered->verdicts) {
    places.push_back(std::string(verdict.method.str()) + "/" + std::string(verdict.graph.str()) + "/" +
                     std::string(verdict.node.str()));
  }
  EXPECT_THAT(places, UnorderedElementsAre("f//y", "f/yes/sin", "f/no/cos"));
}

template <typename T>
std::string refusal(const Result<T>& result) {
  return is_refused(result) ? result.error().str() : "nothing";
}

BackendEntry entry_of_echo(std::string name) {
  BackendEntry entry;
  entry.name = std::move(name);
  entry.backend = std::make_unique<EchoBackend>();
  return entry;
}

// Splits are between delegates: a tag in two graphs has two delegates, and unneeded nodes have none.
TEST(ToBackend, SplitsAreBetweenDelegates) {
  const Program program = parse(R"(program
method forward(%x: f32[2]) {
  graph @each(%x: f32[]) {
    %i: f32[] = aten.relu.default(%x) !t0
    %t: f32[] = aten.tan.default(%i)
    %j: f32[] = aten.relu.default(%t) !t1
    return %j
  }
  %a: f32[2] = aten.relu.default(%x) !t0
  %m: f32[2] = higher_order.map_impl(@each, [%a], [])
  %b: f32[2] = aten.relu.default(%m) !t1
  %unused: f32[2] = aten.relu.default(%m) !t2
  return %b
}
)");
  auto lowered = lower(program);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  const Splits splits = splits_of(program, *lowered);
  EXPECT_EQ(splits.omitted, 0U);
  ASSERT_EQ(splits.pairs.size(), 2U);
  const Split& own = splits.pairs[0];
  EXPECT_EQ(own.method, Name("forward"));
  EXPECT_TRUE(own.graph.empty());
  EXPECT_EQ(own.path, (std::vector{Name("a"), Name("m"), Name("b")}));
  const Split& inner = splits.pairs[1];
  EXPECT_EQ(inner.graph, Name("each"));
  EXPECT_EQ(inner.first, Name("t0_1"));
  EXPECT_EQ(inner.second, Name("t1_1"));
}

TEST(Registry, RefusesTheSameIdTwice) {
  Registry registry = registry_with(std::make_unique<EchoBackend>());
  EXPECT_EQ(refusal(registry.add(entry_of_echo("other"))),
            "[registry] other: backend id Echo is already registered");
}

TEST(Registry, RefusesTheSameNameTwice) {
  class OtherBackend : public EchoBackend {
    std::string_view id() const override { return "Other"; }
  };
  Registry registry = registry_with(std::make_unique<EchoBackend>());
  BackendEntry again = entry_of_echo("Echo");
  again.backend = std::make_unique<OtherBackend>();
  EXPECT_EQ(refusal(registry.add(std::move(again))),
            "[registry] Echo: a backend with this name is already registered");
  EXPECT_EQ(registry.find_backend("Other"), nullptr);
}

TEST(Registry, AWrongManifestLeavesNothing) {
  Registry registry;
  const std::string_view first = "shop::cut(Tensor x) -> Tensor\n";
  EXPECT_FALSE(registry.add_kernels(std::string(first) + "shop::glue(Tensor x) -> int\n"));
  EXPECT_EQ(registry.ops()->find(Name("shop.cut.default")), nullptr);
  EXPECT_THAT(registry.ops()->libraries(), Not(Contains("shop")));
  EXPECT_TRUE(registry.add_kernels(first));
  EXPECT_NE(registry.ops()->find(Name("shop.cut.default")), nullptr);
  EXPECT_FALSE(
      registry.add_kernels("shop::glue(Tensor x) -> Tensor\nshop::cut(Tensor x, int n) -> Tensor\n"));
  EXPECT_NE(registry.ops()->find(Name("shop.cut.default")), nullptr);
  EXPECT_EQ(registry.ops()->find(Name("shop.glue.default")), nullptr);
}

TEST(Registry, AWrongEntryLeavesNothing) {
  Registry registry;
  BackendEntry entry = entry_of_echo("Echo");
  entry.libraries = {"shop"};
  entry.ops = {{.name = "shop.cut.default", .schema = "shop.cut.default(Tensor x) -> Tensor"},
               {.name = "shop.glue"}};
  EXPECT_FALSE(registry.add(std::move(entry)));
  EXPECT_EQ(registry.find("Echo"), nullptr);
  EXPECT_EQ(registry.ops()->find(Name("shop.cut.default")), nullptr);
  EXPECT_THAT(registry.ops()->libraries(), Not(Contains("shop")));
}

TEST(Registry, RefusesEntriesThatLackSomething) {
  class NamelessBackend : public EchoBackend {
    std::string_view id() const override { return ""; }
  };
  Registry registry;
  EXPECT_EQ(refusal(registry.add(entry_of_echo(""))), "[registry] the backend has no name");
  BackendEntry entry = entry_of_echo("empty");
  entry.backend = nullptr;
  EXPECT_EQ(refusal(registry.add(std::move(entry))), "[registry] empty: the entry has no backend");
  entry = entry_of_echo("nameless");
  entry.backend = std::make_unique<NamelessBackend>();
  EXPECT_EQ(refusal(registry.add(std::move(entry))), "[registry] nameless: the backend's id is empty");
  EXPECT_TRUE(registry.entries().empty());
}

TEST(Registry, TellsWhatAnEntryCannotDo) {
  BackendEntry entry = entry_of_echo("plain");
  EXPECT_EQ(refusal(make_partitioner(entry, {})), "[registry] plain: this backend has no partitioner");
  EXPECT_EQ(refusal(support_matrix(entry)),
            "[registry] plain: this backend does not provide a support matrix");
  entry.make_partitioner = [](const BackendOptions&) { return std::unique_ptr<Partitioner>(); };
  EXPECT_EQ(refusal(make_partitioner(entry, {})), "[registry] plain: its make_partitioner() returned null");
}

}  // namespace
}  // namespace depute
