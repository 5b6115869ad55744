// Building nodes by op name, and the values that hold symbolic sizes.
#include "depute/program/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/program/text.h"

namespace depute {
namespace {

using testing::HasSubstr;

Type f32(Dims sizes) {
  return tensor_type({.dtype = ScalarType::F32, .sizes = std::move(sizes)});
}

TEST(Builder, InfersTypesAndNamesResults) {
  Graph graph;
  Value* x = graph.add_input(Name("x"), f32({2, 1}));
  Value* y = graph.add_input(Name("y"), f32({3}));
  Builder b(graph);
  Value* sum = b.call("aten.add.Tensor", {x, y});
  EXPECT_EQ(print(*sum->producer()), "%add: f32[2, 3] = aten.add.Tensor(%x, %y)");
  Value* again = b.call("aten.add.Tensor", {sum, y, 2});
  EXPECT_EQ(print(*again->producer()), "%add_1: f32[2, 3] = aten.add.Tensor(%add, %y, alpha=2)");
}

TEST(Builder, LeavesOutDefaults) {
  Graph graph;
  Value* x = graph.add_input(Name("x"), f32({1, 1, 4, 4}));
  Builder b(graph);
  std::vector<std::int64_t> two = {2, 2}, one_each = {1, 1};
  Value* pooled =
      b.call_all("aten.max_pool2d_with_indices.default",
                 {x, two, std::vector<std::int64_t>{}, std::vector<std::int64_t>{0, 0}, one_each})[0];
  EXPECT_THAT(print(*pooled->producer()), HasSubstr("aten.max_pool2d_with_indices.default(%x, [2, 2])"));
}

TEST(Builder, InheritsWhereANodeComesFrom) {
  Graph graph;
  Value* x = graph.add_input(Name("x"), f32({2}));
  Node* node = graph.add(Name("aten.silu.default"), {Argument::of(x)}, {}, {{Name("silu"), f32({2})}});
  node->debug_handle = 7;
  node->tag = Name("tag");
  node->source = graph.add_source({.file = Name("model.py"), .line = 3});
  Builder b(graph, node);
  b.inherit(*node);
  const Node* made = b.call("aten.sigmoid.default", {x})->producer();
  EXPECT_EQ(made->next(), node);
  EXPECT_EQ(made->debug_handle, 7u);
  EXPECT_EQ(made->tag, node->tag);
  EXPECT_EQ(made->source, node->source);
}

// The message after one call, which must give nothing.
std::string failure_of_call(Builder& b, std::string_view op, std::initializer_list<BuilderArgument> args) {
  EXPECT_EQ(b.call(op, args), nullptr);
  return b.failed() ? b.status().error().message : "no failure";
}

TEST(Builder, MistakesOfItsUserAreFailuresInTheirWords) {
  Graph graph, other;
  Value* x = graph.add_input(Name("x"), f32({2}));
  Value* y = other.add_input(Name("y"), f32({2}));
  Node* erased = graph.add(Name("aten.relu.default"), {Argument::of(x)}, {}, {{Name("z"), f32({2})}});
  Value* z = erased->result();
  graph.erase(*erased);
  auto message = [&](std::string_view op, std::initializer_list<BuilderArgument> args) {
    Builder b(graph);
    return failure_of_call(b, op, args);
  };
  EXPECT_EQ(message("aten.reul.default", {x}), "unknown op aten.reul.default");
  EXPECT_EQ(message("aten.masked_select.default", {x, x}),
            "the result types of aten.masked_select.default are not known");
  EXPECT_EQ(message("aten.relu.default", {x, x}),
            "aten.relu.default: got 2 arguments; at most 1 are allowed");
  EXPECT_EQ(message("aten.relu.default", {}), "aten.relu.default: argument 'self' is missing");
  EXPECT_EQ(message("aten.relu.default", {3}), "aten.relu.default: argument 'self' has the wrong kind");
  EXPECT_EQ(message("aten.relu.default", {y}), "%y is not a value of the builder's graph");
  EXPECT_EQ(message("aten.relu.default", {z}), "%z is not a value of the builder's graph");
  EXPECT_EQ(message("aten.cat.default", {std::vector<Value*>{x, y}}),
            "%y is not a value of the builder's graph");
  EXPECT_EQ(graph.node_count(), 0u);
}

TEST(Builder, RunLeavesARuleAtTheFirstFailure) {
  Graph graph;
  Value* x = graph.add_input(Name("x"), f32({2}));
  Builder b(graph);
  int steps = 0;
  auto result = b.run([&]() -> Replacement {
    ++steps;
    Value* wrong = b.call("aten.relu.default", {x, x});
    ++steps;
    return one(b.view(wrong, {wrong->tensor().numel()}));
  });
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, HasSubstr("at most 1 are allowed"));
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(b.call("aten.relu.default", {x}), nullptr);  // outside of run() a failure is null
  EXPECT_FALSE(b.run([&]() -> Replacement { return one(x); }).has_value());
}

TEST(Builder, KeepsTheFirstFailure) {
  Graph graph;
  Value* x = graph.add_input(Name("x"), f32({2}));
  Value* y = graph.add_input(Name("y"), f32({3}));
  Builder b(graph);
  Value* wrong = b.call("aten.add.Tensor", {x, y});
  EXPECT_EQ(wrong, nullptr);
  EXPECT_EQ(b.call("aten.relu.default", {wrong}), nullptr);
  ASSERT_TRUE(b.failed());
  EXPECT_EQ(b.status().error().message, "sizes 2 and 3 do not broadcast");
  EXPECT_EQ(graph.node_count(), 0u);
}

TEST(Builder, CopiesListsOfOtherCalls) {
  Graph graph;
  Value* x = graph.add_input(Name("x"), f32({2}));
  Argument parts = graph.list({Argument::of(x), Argument::of(x)});
  Builder b(graph);
  Value* first = b.call("aten.cat.default", {parts});
  Value* second = b.call("aten.cat.default", {first->producer()->arg(0)});
  Value* y = b.call("aten.relu.default", {x});
  graph.set_operand(*second->producer(), 0, y);
  EXPECT_EQ(print(*first->producer()), "%cat: f32[4] = aten.cat.default([%x, %x])");
  EXPECT_EQ(print(*second->producer()), "%cat_1: f32[4] = aten.cat.default([%relu, %x])");
}

// --- symbolic sizes

class SizeValuesTest : public testing::Test {
 protected:
  std::string text() const {
    std::string lines;
    for (const Node& node : graph_.nodes()) lines += print(node) + "\n";
    return lines;
  }
  static SymInt s(std::string_view name) { return SymInt::symbol(name); }

  Graph graph_;
};

TEST_F(SizeValuesTest, ReadsSizesOfInputsOnce) {
  Value* x = graph_.add_input(Name("x"), f32({s("s0"), 3, s("s1")}));
  Builder b(graph_);
  Value* y = b.call("aten.relu.default", {x});
  b.call("aten.expand.default", {y, Dims{s("s0"), 3, s("s1")}});
  b.call("aten.full.default", {Dims{s("s1") * s("s0")}, 0});
  EXPECT_EQ(text(),
            "%size: sym_int[s0] = aten.sym_size.int(%x, 0)\n"
            "%size_1: sym_int[s1] = aten.sym_size.int(%x, 2)\n"
            "%size_2: sym_int[s0*s1] = _operator.mul(%size, %size_1)\n"
            "%relu: f32[s0, 3, s1] = aten.relu.default(%x)\n"
            "%expand: f32[s0, 3, s1] = aten.expand.default(%relu, [%size, 3, %size_1])\n"
            "%full: i64[s0*s1] = aten.full.default([%size_2], 0)\n");
}

TEST_F(SizeValuesTest, SolvesMultiples) {
  graph_.add_input(Name("x"), f32({s("s0") * 2}));
  Builder b(graph_);
  b.call("aten.full.default", {Dims{s("s0") + 1}, 0});
  EXPECT_EQ(text(),
            "%size: sym_int[2*s0] = aten.sym_size.int(%x, 0)\n"
            "%size_1: sym_int[s0] = _operator.floordiv(%size, 2)\n"
            "%size_2: sym_int[s0 + 1] = _operator.add(%size_1, 1)\n"
            "%full: i64[s0 + 1] = aten.full.default([%size_2], 0)\n");
}

// The runtime has no kernel for powers. One beyond what products are made for is refused.
TEST_F(SizeValuesTest, MultipliesForPowers) {
  graph_.add_input(Name("x"), f32({s("s0")}));
  Builder b(graph_);
  b.call("aten.full.default", {Dims{s("s0") * s("s0") * s("s0") * 4}, 0});
  EXPECT_EQ(text(),
            "%size: sym_int[s0] = aten.sym_size.int(%x, 0)\n"
            "%size_1: sym_int[s0**2] = _operator.mul(%size, %size)\n"
            "%size_2: sym_int[s0**3] = _operator.mul(%size_1, %size)\n"
            "%size_3: sym_int[4*s0**3] = _operator.mul(4, %size_2)\n"
            "%full: i64[4*s0**3] = aten.full.default([%size_3], 0)\n");
  SymInt large = s("s0");
  for (int i = 0; i < 8; ++i) large = large * s("s0");
  EXPECT_EQ(b.call("aten.full.default", {Dims{large}, 0}), nullptr);
  EXPECT_EQ(b.status().error().message, "no value in the graph provides the size s0**9");
}

TEST_F(SizeValuesTest, UsesNumbersThatNodesCompute) {
  Value* x = graph_.add_input(Name("x"), tensor_type({.dtype = ScalarType::I64, .sizes = {}}));
  graph_.add(Name("aten.item.default"), {Argument::of(x)}, {},
             {{Name("n"), sym_type(Type::Kind::SymInt, s("u0").expr())}});
  Builder b(graph_);
  b.call("aten.full.default", {Dims{s("u0") + 1}, 0});
  EXPECT_EQ(text(),
            "%n: sym_int[u0] = aten.item.default(%x)\n"
            "%size: sym_int[u0 + 1] = _operator.add(%n, 1)\n"
            "%full: i64[u0 + 1] = aten.full.default([%size], 0)\n");
}

TEST_F(SizeValuesTest, FailsOnUnknownSymbols) {
  Builder b(graph_);
  EXPECT_EQ(b.call("aten.full.default", {Dims{s("s9")}, 0}), nullptr);
  EXPECT_EQ(b.status().error().message, "no value in the graph provides the size s9");
}

TEST_F(SizeValuesTest, LeavesOneOpenSizeToAView) {
  Value* x = graph_.add_input(Name("x"), f32({s("s0"), 6}));
  Builder b(graph_);
  EXPECT_EQ(b.view(x, {s("s0"), 6}), x);
  Value* y = b.view(x, {s("s0"), 2, 3});
  EXPECT_EQ(print(*y->producer()), "%view: f32[s0, 2, 3] = aten.view.default(%x, [-1, 2, 3])");
}

}  // namespace
}  // namespace depute
