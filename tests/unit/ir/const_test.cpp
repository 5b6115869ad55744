// Nothing that is reached from a const Program, Method, Graph, Node, Value, Use or Argument can be edited.
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "depute/parse.h"
#include "depute/program.h"
#include "ir/walk.h"
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
  EXPECT_TYPES(Node, bodies_of(it), std::vector<Graph*>, std::vector<const Graph*>);
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
  EXPECT_TYPES(Argument, it.as_value(), Value*, const Value*);
  EXPECT_TYPES(Argument, it.as_graph(), Graph*, const Graph*);
  EXPECT_TYPES(Argument, it.as_list()[0], Argument&, const Argument&);
  EXPECT_TYPES(Argument, it.as_map()[0], NamedArgument&, const NamedArgument&);
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
  const Node* foreign = two.add(Symbol("op"), {}, {}, {{Symbol("y"), Type()}});
  const Value* input = two.add_input(Symbol("x"), Type());
  EXPECT_THROW(one.own(*foreign), InternalError);
  EXPECT_THROW(one.own(*foreign->result()), InternalError);
  EXPECT_THROW(one.own(*input), InternalError);
}

}  // namespace
}  // namespace depute
