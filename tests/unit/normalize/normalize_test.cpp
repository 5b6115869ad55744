// The pipeline as a whole: what holds of every normalized program, and what callers may ask of it.
#include "depute/compiler/normalize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "depute/program/op.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "normalize/passes.h"
#include "tests/unit/parse.h"

namespace depute {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One call of almost every op of the table, with all results as outputs.
Program recorded_calls() {
  std::ifstream file("tests/unit/ops/op_types.ir");
  std::stringstream text;
  text << file.rdbuf();
  Program program = parse(text.str());
  Method& method = *program.methods.at(0);
  std::vector<Argument> outputs;
  for (Node& node : method.graph->nodes()) {
    for (Value* result : node.results()) outputs.push_back(Argument::of(result));
  }
  method.outputs.assign(outputs.size(), OutputSpec{});
  method.graph->set_outputs(outputs);
  return program;
}

std::vector<std::string> ops_of(const Program& program) {
  std::vector<std::string> ops;
  for (const Node& node : program.methods.at(0)->graph->nodes()) ops.emplace_back(node.op().str());
  return ops;
}

TEST(Normalize, LeavesCoreOpsOfTheSameResultTypes) {
  Program program = recorded_calls();
  std::vector<Type> types;
  for (const Argument& output : program.methods[0]->graph->outputs()) {
    types.push_back(output.as_value()->type());
  }
  auto normalized = normalize(std::move(program), {.verify = true});
  ASSERT_TRUE(normalized.has_value()) << normalized.error().str();
  const Graph& graph = *normalized->methods.at(0)->graph;
  for (const Node& node : graph.nodes()) EXPECT_TRUE(node.def()->is(OpFlag::Core)) << print(node);
  ASSERT_EQ(graph.outputs().size(), types.size());
  for (std::size_t i = 0; i < types.size(); ++i) EXPECT_EQ(graph.outputs()[i].as_value()->type(), types[i]);
}

TEST(Normalize, ChangesNothingTheSecondTime) {
  auto once = normalize(recorded_calls());
  ASSERT_TRUE(once.has_value()) << once.error().str();
  auto twice = normalize(clone(*once));
  ASSERT_TRUE(twice.has_value()) << twice.error().str();
  EXPECT_EQ(first_difference(*once, *twice), std::nullopt);
}

constexpr std::string_view activations = R"(
program
method forward(%x: f32[2], %y: f32[3]) {
  %a: f32[2] = aten.hardswish.default(%x)
  %b: f32[3] = aten.hardswish.default(%y)
  return %a, %b
}
)";

TEST(Normalize, KeepsNodesThatAFilterPasses) {
  NormalizeOptions options;
  options.ops_to_not_decompose.push_back(
      {.ops = {Name("aten.hardswish.default")},
       .filter = [](const Node& node) { return node.operand(0)->tensor().sizes[0] == 2; }});
  auto program = normalize(parse(activations), options);
  ASSERT_TRUE(program.has_value()) << program.error().str();
  EXPECT_THAT(ops_of(*program), ElementsAre("aten.hardswish.default", "aten.add.Tensor",
                                            "aten.hardtanh.default", "aten.div.Tensor", "aten.mul.Tensor"));
}

TEST(Normalize, DecomposesWhatABackendLeft) {
  NormalizeOptions options;
  options.ops_to_not_decompose.push_back({.ops = {Name("aten.hardswish.default")}, .filter = {}});
  auto kept = normalize(parse(activations), options);
  ASSERT_TRUE(kept.has_value());
  EXPECT_THAT(ops_of(*kept), ElementsAre("aten.hardswish.default", "aten.hardswish.default"));
  auto program = normalize_undelegated(std::move(*kept));
  ASSERT_TRUE(program.has_value()) << program.error().str();
  auto at_once = normalize(parse(activations));
  EXPECT_EQ(first_difference(*program, *at_once), std::nullopt);
}

TEST(Normalize, ShowsEveryPass) {
  std::vector<std::string> seen;
  NormalizeOptions options;
  options.observe = [&](std::string_view pass, const Program&) { seen.emplace_back(pass); };
  ASSERT_TRUE(normalize(parse(activations), options).has_value());
  std::vector<std::string> passes;
  for (const Pass& pass : all_passes()) passes.emplace_back(pass.name);
  EXPECT_EQ(seen, passes);
}

TEST(Normalize, NodesComeFromWhatTheyReplace) {
  auto program = normalize(parse(R"(
program
method forward(%x: f32[2]) {
  %e: f32[2, 2]{strides=[0, 1]} = aten.expand.default(%x, [2, 2])
  %a: f32[2, 2]{strides=[0, 1]} = aten.silu_.default(%e) #4 from "model.py":9 "act"
  return %a
}
)"));
  ASSERT_FALSE(program.has_value());
  EXPECT_THAT(program.error().str(), HasSubstr("[functionalize]"));
  EXPECT_EQ(program.error().source, "model.py:9 (act)");

  program = normalize(parse(R"(
program
method forward(%x: f32[2]) {
  %s: f32[2] = aten.sin.default(%x) #3 from "model.py":8 "act"
  %a: f32[2] = aten.silu_.default(%s) #4 from "model.py":9 "act"
  return %a
}
)"));
  ASSERT_TRUE(program.has_value()) << program.error().str();
  for (const Node& node : program->methods.at(0)->graph->nodes()) {
    bool is_sin = node.op() == "aten.sin.default";
    EXPECT_EQ(node.debug_handle, is_sin ? 3u : 4u);
    ASSERT_NE(node.source, nullptr);
    EXPECT_EQ(node.source->line, is_sin ? 8 : 9);
  }
}

TEST(Normalize, ConstantsOfOneMethodServeAnother) {
  auto program = normalize(parse(R"(
program
method a(%x: f32[2]) {
  %y: f32[2] = aten.add.Tensor(%x, 1)
  return %y
}
method b(%x: f32[2]) {
  %y: f32[2] = aten.mul.Tensor(%x, 1.0)
  return %y
}
)"));
  ASSERT_TRUE(program.has_value()) << program.error().str();
  EXPECT_EQ(program->data.size(), 1u);
}

TEST(Normalize, PassNamesAreDifferent) {
  std::vector<std::string_view> names;
  for (const Pass& pass : all_passes()) names.push_back(pass.name);
  std::ranges::sort(names);
  EXPECT_TRUE(std::ranges::adjacent_find(names) == names.end());
}

}  // namespace
}  // namespace depute
