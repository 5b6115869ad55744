// Editing graphs: use lists stay right through every edit, names stay unique, iteration survives erasing.
#include "depute/program/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "depute/program/text.h"
#include "ir/node_order.h"

namespace depute {
namespace {

using testing::ElementsAre;

Type f32() {
  return tensor_type(make_tensor(ScalarType::F32, {2}));
}

Value* input(Graph& graph, std::string_view name) {
  return graph.add_input(Name(name), f32());
}

Node* unary(Graph& graph, std::string_view op, Value* x, std::string_view name, Node* before = nullptr) {
  return graph.add(Name(op), {Argument::of(x)}, {}, {{Name(name), f32()}}, before);
}

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> result;
  for (const Node& node : graph.nodes()) result.emplace_back(node.display_name());
  return result;
}

// Counts uses the slow way and compares with every use list.
void expect_sound_uses(const Graph& graph) {
  std::map<const Value*, std::multiset<const Node*>> expected;
  auto count = [&](const Node& node) {
    auto visit = [&](const Argument& cell) { expected[cell.as_value()].insert(&node); };
    for (const Argument& argument : node.args()) for_each_value(argument, visit);
    for (const NamedArgument& argument : node.kwargs()) for_each_value(argument.value, visit);
  };
  auto compare = [&](const Value& value) {
    std::multiset<const Node*> actual;
    for (const Use& use : value.uses()) {
      actual.insert(use.user());
      EXPECT_EQ(use.argument().as_value(), &value);
    }
    EXPECT_EQ(actual, expected[&value]) << value.name().str();
    EXPECT_EQ(value.use_count(), actual.size());
    EXPECT_EQ(value.has_uses(), !actual.empty());
    EXPECT_EQ(value.has_one_use(), actual.size() == 1);
  };
  for (const Node& node : graph.nodes()) count(node);
  count(*graph.return_node());
  for (const Value* value : graph.inputs()) compare(*value);
  for (const Node& node : graph.nodes()) {
    for (const Value* value : node.results()) compare(*value);
  }
}

TEST(Graph, UsesInListsKeywordsAndOutputs) {
  Graph graph(Name("g"));
  Value* x = input(graph, "x");
  Argument list = graph.list({Argument::of(x), Argument::none(), graph.list({Argument::of(x)})});
  NamedArgument entry{Name("k"), Argument::of(x)};
  Node* node = graph.add(Name("op"), {list, Argument::of(x)},
                         {{Name("map"), graph.map(std::span(&entry, 1))}}, {{Name("y"), f32()}});
  std::vector<Argument> outputs = {Argument::of(node->result()), Argument::of(x)};
  graph.set_outputs(outputs);
  EXPECT_EQ(x->use_count(), 5u);
  EXPECT_EQ(node->operand_count(), 4u);
  EXPECT_TRUE(node->result()->has_one_use());
  EXPECT_EQ(node->result()->uses().begin()->user(), graph.return_node());
  expect_sound_uses(graph);
}

TEST(Graph, ReplaceUsesReachesOutputs) {
  Graph graph(Name("g"));
  Value* x = input(graph, "x");
  Node* a = unary(graph, "a", x, "a");
  Node* b = unary(graph, "b", x, "b");
  Node* c = graph.add(Name("c"), {graph.list({Argument::of(a->result()), Argument::of(a->result())})}, {},
                      {{Name("c"), f32()}});
  std::vector<Argument> outputs = {Argument::of(a->result()), Argument::of(c->result())};
  graph.set_outputs(outputs);
  std::uint64_t before = graph.revision();
  graph.replace_uses(*a->result(), b->result());
  EXPECT_GT(graph.revision(), before);
  EXPECT_FALSE(a->result()->has_uses());
  EXPECT_EQ(b->result()->use_count(), 3u);
  EXPECT_EQ(graph.outputs()[0].as_value(), b->result());
  expect_sound_uses(graph);
  graph.erase(*a);
  EXPECT_THAT(names(graph), ElementsAre("b", "c"));
  EXPECT_EQ(graph.node_count(), 2u);
  expect_sound_uses(graph);
}

TEST(Graph, EraseAndAddWhileIterating) {
  Graph graph(Name("g"));
  Value* x = input(graph, "x");
  for (int i = 0; i < 6; ++i) unary(graph, i % 2 ? "odd" : "even", x, "n" + std::to_string(i));
  for (Node& node : graph.nodes()) {
    if (node.op() == "odd") {
      graph.erase(node);
    } else {
      unary(graph, "new", x, "new", &node);
    }
  }
  EXPECT_THAT(names(graph), ElementsAre("new", "n0", "new_1", "n2", "new_2", "n4"));
  expect_sound_uses(graph);
  for (Node& node : graph.nodes()) graph.erase(node);
  EXPECT_EQ(graph.node_count(), 0u);
  EXPECT_EQ(graph.first(), nullptr);
  EXPECT_EQ(graph.last(), nullptr);
  EXPECT_FALSE(x->has_uses());
}

TEST(Graph, NamesAreUnique) {
  Graph graph(Name("g"));
  Value* x = input(graph, "add");
  Node* first = unary(graph, "op", x, "add");
  Node* second = unary(graph, "op", x, "add");
  Node* taken = unary(graph, "op", x, "add_2_1");
  Node* third = unary(graph, "op", x, "add_2");
  EXPECT_EQ(first->result()->name(), "add_1");
  EXPECT_EQ(second->result()->name(), "add_2");
  EXPECT_EQ(taken->result()->name(), "add_2_1");
  EXPECT_EQ(third->result()->name(), "add_2_2");
  EXPECT_FALSE(unary(graph, "op", x, "")->result()->name().empty());
  graph.rename(*first->result(), Name("fresh"));
  EXPECT_EQ(first->result()->name(), "fresh");
  graph.rename(*first->result(), Name("add"));
  EXPECT_NE(first->result()->name(), "add");
}

TEST(Graph, MoveAndInsert) {
  Graph graph(Name("g"));
  Value* x = input(graph, "x");
  Node* a = unary(graph, "op", x, "a");
  Node* b = unary(graph, "op", x, "b");
  Node* c = unary(graph, "op", x, "c");
  graph.move_before(*c, a);
  EXPECT_THAT(names(graph), ElementsAre("c", "a", "b"));
  graph.move_before(*c, nullptr);
  EXPECT_THAT(names(graph), ElementsAre("a", "b", "c"));
  graph.move_before(*b, b);
  unary(graph, "op", x, "d", graph.return_node());
  EXPECT_THAT(names(graph), ElementsAre("a", "b", "c", "d"));
}

TEST(Graph, NodesKeepTheirIds) {
  Graph graph(Name("g"));
  Value* x = input(graph, "x");
  Node* a = unary(graph, "op", x, "a");
  Node* b = unary(graph, "op", x, "b", a);
  EXPECT_EQ(graph.return_node()->id(), 0u);
  EXPECT_THAT((std::vector{a->id(), b->id()}), ElementsAre(1u, 2u));
  graph.erase(*a);
  Node* c = unary(graph, "op", x, "c", b);
  graph.move_before(*c, nullptr);
  EXPECT_THAT((std::vector{b->id(), c->id()}), ElementsAre(2u, 3u)) << "an id is not given again";
  EXPECT_EQ(graph.node_ids(), 4u);
}

TEST(NodeOrder, KnowsPlacesAndThoseOfNodesInThePlaceOfOthers) {
  Graph graph(Name("g"));
  Value* x = input(graph, "x");
  Node* a = unary(graph, "op", x, "a");
  Node* b = unary(graph, "op", x, "b", a);
  NodeOrder order(graph);
  EXPECT_THAT((std::vector{order[*b], order[*a], order[*graph.return_node()]}), ElementsAre(0u, 1u, 2u));
  Node* c = unary(graph, "op", x, "c", b->next());
  order.put_at(*c, *b);
  graph.erase(*b);
  EXPECT_EQ(order[*c], 0u);
  EXPECT_EQ(order[*a], 1u);
}

TEST(Graph, SetArgumentsAndOneUse) {
  Graph graph(Name("g"));
  Value* x = input(graph, "x");
  Value* y = input(graph, "y");
  Node* a = unary(graph, "op", x, "a");
  std::vector<Argument> args = {Argument::of(y), Argument::of(1),
                                graph.list({Argument::of(x), Argument::of(y)})};
  graph.set_args(*a, args, {});
  expect_sound_uses(graph);
  EXPECT_EQ(y->use_count(), 2u);
  graph.set_operand(*y->uses().begin(), Argument::of(x));
  EXPECT_EQ(x->use_count(), 2u);
  expect_sound_uses(graph);
  graph.set_operand(*x->uses().begin(), Argument::of(7));
  EXPECT_EQ(x->use_count(), 1u);
  EXPECT_EQ(a->operand_count(), 2u);
  expect_sound_uses(graph);
}

TEST(Graph, EraseInput) {
  Graph graph(Name("g"));
  Value* x = input(graph, "x");
  Value* y = input(graph, "y");
  unary(graph, "op", y, "a");
  graph.erase_input(x->index());
  EXPECT_EQ(y->index(), 0u);
  EXPECT_THAT(graph.inputs(), ElementsAre(y));
}

TEST(Graph, ImportMapsValuesIntoAnotherGraph) {
  Graph from(Name("from"));
  Value* x = input(from, "x");
  Argument list = from.list({Argument::of(x), Argument::of(2), from.complex(1, 2), Argument::string("t")});
  Graph to(Name("to"));
  Value* y = input(to, "y");
  Argument copy = to.import(list, [&](const Value*) { return Argument::of(y); });
  EXPECT_EQ(print(copy), "[%y, 2, complex(1.0, 2.0), \"t\"]");
}

TEST(Graph, EqualSourcesAreStoredOnce) {
  Graph graph(Name("g"));
  SourceLocation source = {Name("m.py"), 3, Name("layer"), Name("aten.relu.default")};
  EXPECT_EQ(graph.add_source(source), graph.add_source(source));
  EXPECT_EQ(graph.add_source(source)->str(), "m.py:3 (layer)");
}

// Random edits, with all use lists counted anew after each.
TEST(GraphProperty, UseListsSurviveRandomEdits) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](std::size_t count) {
      return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
    };
    Graph graph(Name("g"));
    std::vector<Value*> values = {input(graph, "x"), input(graph, "y")};
    auto any = [&] { return Argument::of(values[pick(values.size())]); };
    for (int step = 0; step < 60; ++step) {
      std::vector<Node*> nodes;
      for (Node& node : graph.nodes()) nodes.push_back(&node);
      std::size_t edit = pick(6);
      if (edit <= 1 || nodes.empty()) {
        Node* node = graph.add(Name("op"), {any(), graph.list({any(), Argument::of(1), any()})},
                               {{Name("k"), any()}}, {{Name("n"), f32()}, {Name("m"), f32()}});
        values.insert(values.end(), node->results().begin(), node->results().end());
      } else if (edit == 2) {
        Value* old = values[pick(values.size())];
        Value* replacement = values[pick(values.size())];
        if (old != replacement) graph.replace_uses(*old, replacement);
      } else if (edit == 3) {
        std::vector<Argument> args = {any(), any()};
        graph.set_args(*nodes[pick(nodes.size())], args, {});
      } else if (edit == 4) {
        std::vector<Argument> outputs = {any(), Argument::none()};
        graph.set_outputs(outputs);
      } else {
        Node* node = nodes[pick(nodes.size())];
        if (std::ranges::any_of(node->results(), &Value::has_uses)) continue;
        for (Value* result : node->results()) std::erase(values, result);
        graph.erase(*node);
      }
      expect_sound_uses(graph);
    }
  }
}

}  // namespace
TEST(GraphTypes, ValuesOfEqualTypesShareOneAndKeepTheirOwn) {
  Graph graph;
  const Type small = tensor_type(make_tensor(ScalarType::F32, {2, 3}));
  Value* x = graph.add_input(Name("x"), small);
  Value* y = graph.add_input(Name("y"), tensor_type(make_tensor(ScalarType::F32, {2, 3})));
  Value* turned = graph.add_input(Name("t"), tensor_type(make_tensor(ScalarType::F32, {2, 3}, {1, 2})));
  Value* symbolic =
      graph.add_input(Name("s"), tensor_type(make_tensor(ScalarType::F32, {SymInt::symbol("s0"), 3})));
  EXPECT_EQ(&x->type(), &y->type());
  EXPECT_NE(&x->type(), &turned->type());
  EXPECT_NE(&x->type(), &symbolic->type());

  const std::uint64_t before = graph.revision();
  graph.set_type(*y, small);
  EXPECT_EQ(graph.revision(), before);
  graph.set_type(*y, tensor_type(make_tensor(ScalarType::I64, {2, 3})));
  EXPECT_GT(graph.revision(), before);
  EXPECT_EQ(x->type(), small);
  EXPECT_EQ(y->tensor().dtype, ScalarType::I64);
}

}  // namespace depute
