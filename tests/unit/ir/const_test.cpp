// Nothing that is reached from a const Program, Method, Graph, Node, Value, Use or Argument can be edited.
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/text.h"
#include "depute/program/walk.h"
#include "support/check.h"

namespace depute {
namespace {

// What an expression gives for an object and for a const one, const and references left as they are.
#define EXPECT_TYPES(object, expression, mutable_type, const_type)                                      \
  do {                                                                                                  \
    [[maybe_unused]] auto of_mutable = [](object& it) -> decltype(auto) { return expression; };         \
    [[maybe_unused]] auto of_const = [](const object& it) -> decltype(auto) { return expression; };     \
    static_assert(std::is_same_v<std::invoke_result_t<decltype(of_mutable), object&>, mutable_type>);   \
    static_assert(std::is_same_v<std::invoke_result_t<decltype(of_const), const object&>, const_type>); \
  } while (false)

TEST(Const, ReachesFromProgramsToTheirGraphs) {
  EXPECT_TYPES(Program, *it.methods[0], Method&, const Method&);
  EXPECT_TYPES(Program, it.methods[0].get(), Method*, const Method*);
  EXPECT_TYPES(Program, it.find_method("forward"), Method*, const Method*);
  EXPECT_TYPES(Program, *it.delegates[0], Delegate&, const Delegate&);
  EXPECT_TYPES(Method, *it.graph, Graph&, const Graph&);
  EXPECT_TYPES(Method, it.graph->first(), Node*, const Node*);
  EXPECT_TYPES(Method, *it.bodies[0], Graph&, const Graph&);
  EXPECT_TYPES(Graph, graphs_below(it), std::vector<Graph*>, std::vector<const Graph*>);
}

TEST(Const, ReachesFromGraphsToTheirNodes) {
  EXPECT_TYPES(Graph, it.first(), Node*, const Node*);
  EXPECT_TYPES(Graph, it.last(), Node*, const Node*);
  EXPECT_TYPES(Graph, it.return_node(), Node*, const Node*);
  EXPECT_TYPES(Graph, *it.nodes().begin(), Node&, const Node&);
  EXPECT_TYPES(Graph, it.inputs()[0], Value* const&, const Value* const&);
  EXPECT_TYPES(Graph, it.outputs()[0].as_value(), const Value*, const Value*);
}

TEST(Const, ReachesFromNodesToAllAroundThem) {
  EXPECT_TYPES(Node, it.graph(), Graph&, const Graph&);
  EXPECT_TYPES(Node, it.next(), Node*, const Node*);
  EXPECT_TYPES(Node, it.previous(), Node*, const Node*);
  EXPECT_TYPES(Node, it.result(), Value*, const Value*);
  EXPECT_TYPES(Node, it.results()[0], Value* const&, const Value* const&);
  EXPECT_TYPES(Node, it.operand(0), Value*, const Value*);
  EXPECT_TYPES(Node, it.bodies(), std::vector<Graph*>, std::vector<const Graph*>);
  static_assert(!std::is_copy_constructible_v<Node> && !std::is_copy_constructible_v<Value>);
}

TEST(Const, ReachesFromValuesToTheirUsers) {
  EXPECT_TYPES(Value, it.producer(), Node*, const Node*);
  EXPECT_TYPES(Value, it.uses().begin()->user(), Node*, const Node*);
  EXPECT_TYPES(Use, it.user(), Node*, const Node*);
  EXPECT_TYPES(Use, it.argument(), const Argument&, const Argument&);
  static_assert(!std::is_copy_constructible_v<Use>);
}

TEST(Const, ReachesIntoArguments) {
  EXPECT_TYPES(Argument, it.as_value(), const Value*, const Value*);
  EXPECT_TYPES(Argument, it.as_graph(), const Graph*, const Graph*);
  EXPECT_TYPES(Argument, it.as_list()[0], const Argument&, const Argument&);
  EXPECT_TYPES(Argument, it.as_map()[0], const NamedArgument&, const NamedArgument&);
}

// A copy leads to no more than the argument did.
TEST(Const, ReachesIntoCopiesOfArguments) {
  const auto copy = [](const Node& node) { return node.arg(0); };
  using Copy = std::invoke_result_t<decltype(copy), const Node&>;
  static_assert(std::is_same_v<Copy, Argument>);
  static_assert(std::is_const_v<std::remove_pointer_t<decltype(std::declval<Copy&>().as_value())>>);
  static_assert(std::is_const_v<std::remove_pointer_t<decltype(std::declval<Copy&>().as_graph())>>);
  static_assert(std::is_const_v<decltype(std::declval<Copy&>().as_list())::element_type>);
  static_assert(std::is_const_v<decltype(std::declval<Copy&>().as_map())::element_type>);
}

#undef EXPECT_TYPES

// Who may edit a graph finds the node that someone who only looked has found.
TEST(Const, AGraphGivesItsOwnNodesAndValues) {
  auto program = parse_program(
      "program\nmethod forward(%x: f32[2]) {\n  %a: f32[2] = aten.sin.default(%x)\n"
      "  %b: f32[2] = aten.cos.default(%a)\n  return %b\n}\n");
  ASSERT_TRUE(program.has_value()) << program.error().str();
  Graph& graph = *program->methods[0]->graph;
  const Graph& seen = graph;
  for (const Node& node : seen.nodes()) {
    EXPECT_EQ(graph.own(node), &node);
    EXPECT_EQ(graph.own(*node.result()), node.result());
  }
  EXPECT_EQ(graph.own(*seen.return_node()), seen.return_node());
  EXPECT_EQ(graph.own(*seen.inputs()[0]), seen.inputs()[0]);
}

TEST(Const, AGraphOwnsNoNodesOfOthers) {
  Graph one;
  Graph two;
  const Node* foreign = two.add(Name("op"), {}, {}, {{Name("y"), Type()}});
  const Value* input = two.add_input(Name("x"), Type());
  EXPECT_THROW(one.own(*foreign), InternalError);
  EXPECT_THROW(one.own(*foreign->result()), InternalError);
  EXPECT_THROW(one.own(*input), InternalError);
}

// Use lists of values are kept in the values: no other graph may have one among its operands.
TEST(Const, AGraphTakesNoValuesOfOthers) {
  Graph one;
  Value* x = one.add_input(Name("x"), Type());
  const Node* user = one.add(Name("op"), {Argument::of(x)}, {}, {{Name("y"), Type()}});
  const Node* with_list = one.add(Name("op"), {one.list({Argument::of(x)})}, {}, {});
  const Argument copies[] = {user->arg(0), with_list->arg(0), Argument::of(one.own(*user->result()))};
  Graph two;
  Value* own = two.add_input(Name("z"), Type());
  Node* node = two.add(Name("op"), {Argument::of(own)}, {}, {});
  const std::size_t uses = x->use_count();
  for (const Argument& copy : copies) {
    EXPECT_THROW(two.add(Name("op"), {copy}, {}, {}), InternalError);
    EXPECT_THROW(two.add(Name("op"), {}, {{Name("k"), copy}}, {}), InternalError);
    EXPECT_THROW(two.set_args(*node, std::span(&copy, 1), {}), InternalError);
    EXPECT_THROW(two.set_outputs(std::span(&copy, 1)), InternalError);
  }
  EXPECT_THROW(two.set_operand(*own->uses().begin(), copies[0]), InternalError);
  EXPECT_THROW(two.set_operand(*node, 0, x), InternalError);
  EXPECT_EQ(x->use_count(), uses);
  EXPECT_FALSE(user->result()->has_uses());
  EXPECT_EQ(two.node_count(), 1u);
}

}  // namespace
}  // namespace depute
