// Every node that is left of a sample, wherever it went, tells which node of the user's program it comes
// from.
#include <gtest/gtest.h>

#include <set>

#include "depute/compiler/compile.h"

namespace depute {
namespace {

// Nodes that torch itself put in; the file has no line of the user's for them: the size of an input, the
// quantization of inputs and outputs.
const std::set<std::string_view> without_source = {"sym_size_int_4", "quantize_per_tensor",
                                                   "dequantize_per_tensor_5"};

class DebugHandles : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

// Checks the nodes of a program and of what it handed to backends; returns how many there were.
int check(const Program& program, const std::string& place) {
  int nodes = 0;
  auto check_graph = [&](const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      // A call stands for all nodes of its delegate.
      if (node.op() == "delegate.call") continue;
      ++nodes;
      std::string name =
          place + ": %" + std::string(node.display_name()) + " = " + std::string(node.op().str());
      EXPECT_GT(node.debug_handle, 0u) << name;
      ASSERT_NE(node.source, nullptr) << name;
      EXPECT_EQ(node.source->file.empty(), without_source.contains(node.display_name())) << name;
      EXPECT_EQ(node.source->line > 0, !node.source->file.empty()) << name;
    }
  };
  for (const auto& method : program.methods) {
    check_graph(*method->graph);
    for (const auto& body : method->bodies) check_graph(*body);
  }
  for (const auto& delegate : program.delegates) {
    nodes += check(*delegate->original, std::string(delegate->name.str()));
    for (const auto& [id, handles] : delegate->debug_handle_map) EXPECT_FALSE(handles.empty());
  }
  return nodes;
}

TEST_P(DebugHandles, SurviveEveryPass) {
  auto [sample, backend] = GetParam();
  CompileOptions options;
  options.input = std::string("tests/models/samples/") + sample + ".pt2";
  if (*backend != 0) options.lower.backends.push_back({backend, {}});
  auto compiled = compile(Compiler(), options);
  ASSERT_TRUE(compiled) << compiled.error().str();
  EXPECT_GT(check(compiled->delegated.program(), "method"), 0);
}

INSTANTIATE_TEST_SUITE_P(Samples, DebugHandles,
                         ::testing::Combine(::testing::Values("args", "attn", "conv_relu_tan", "dynamic",
                                                              "mlp", "multi", "mutbuf", "qconv", "tied",
                                                              "extra/mutbuf_functional"),
                                            ::testing::Values("", "demo", "xnnpack")));

}  // namespace
}  // namespace depute
