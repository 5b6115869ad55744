// The type rules against PyTorch: op_types.ir holds calls with the results that torch gives them (recorded by
// tests/models/record_op_types.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "depute/program/builder.h"
#include "depute/program/op.h"
#include "depute/program/text.h"
#include "ops/control/size_values.h"

namespace depute {
namespace {

Program recorded_calls() {
  std::ifstream file("tests/unit/ops/op_types.ir");
  std::stringstream text;
  text << file.rdbuf();
  auto program = parse_program(text.str(), "op_types.ir");
  if (program) return std::move(*program);
  ADD_FAILURE() << program.error().str();
  return Program();
}

std::string types_text(const std::vector<Type>& types) {
  std::string text;
  for (const Type& type : types) text += (text.empty() ? "" : ", ") + str(type);
  return text;
}

std::string types_text(std::span<const Value* const> values) {
  std::vector<Type> types;
  for (const Value* value : values) types.push_back(value == nullptr ? Type{} : value->type());
  return types_text(types);
}

TEST(OpTypes, AreThoseOfTorch) {
  Program program = recorded_calls();
  ASSERT_EQ(program.methods.size(), 1u);
  std::size_t checked = 0;
  for (const Node& node : program.methods[0]->graph->nodes()) {
    ASSERT_NE(node.def(), nullptr) << print(node);
    if (auto status = check_call(node); !status) {
      ADD_FAILURE() << status.error().str() << "\n" << print(node);
      continue;
    }
    const OpDef* def = node.def();
    ASSERT_NE(def->infer, nullptr) << print(node);
    auto types = def->infer(OpCall(node));
    if (!types) {
      ADD_FAILURE() << print(node) << "\n" << types.error().message;
      continue;
    }
    EXPECT_EQ(types_text(*types), types_text(node.results())) << print(node);
    ++checked;
  }
  EXPECT_GT(checked, 400u);
}

// Decomposes `node` and what comes of it, and returns what its results become.
std::vector<Value*> decompose_fully(Graph& graph, Node& node, SizeValues& sizes) {
  Node* before = node.previous();
  Builder builder(graph, &node, &sizes);
  Replacement values = node.def()->decompose(builder, OpCall(node));
  EXPECT_TRUE(values.has_value()) << print(node) << "\n" << values.error().message;
  EXPECT_TRUE(builder.status().has_value()) << print(node) << "\n" << builder.status().error().message;
  if (!values || builder.failed()) return {};
  for (Node* made = before == nullptr ? graph.first() : before->next(); made != nullptr && made != &node;) {
    Node* next = made->next();
    if (made->def()->decompose != nullptr) {
      std::vector<Value*> inner = decompose_fully(graph, *made, sizes);
      for (std::size_t i = 0; i < inner.size(); ++i) {
        EXPECT_EQ(inner[i]->type(), made->result(i)->type()) << print(*made);
        std::ranges::replace(*values, made->result(i), inner[i]);
        graph.replace_uses(*made->result(i), inner[i]);
      }
    }
    made = next;
  }
  return *values;
}

TEST(OpTypes, StayTheSameThroughDecomposition) {
  Program program = recorded_calls();
  ASSERT_EQ(program.methods.size(), 1u);
  Graph& graph = *program.methods[0]->graph;
  SizeValues sizes(graph);
  std::size_t checked = 0;
  for (Node& node : graph.nodes()) {
    if (node.def()->decompose == nullptr) continue;
    std::vector<Value*> values = decompose_fully(graph, node, sizes);
    if (values.empty()) continue;
    EXPECT_EQ(types_text(values), types_text(node.results())) << print(node);
    ++checked;
  }
  EXPECT_GT(checked, 100u);
}

}  // namespace
}  // namespace depute
