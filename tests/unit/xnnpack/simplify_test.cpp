#include "backends/xnnpack/passes/simplify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/xnnpack/print_graph.h"
#include "backends/xnnpack/xnnpack_backend.h"
#include "depute/program/text.h"

namespace depute::xnnpack {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

XnnGraph simplified(const std::string& body) {
  auto program = parse_program(
      "program\ndata \"w\": f32[4, 4, 1, 1] = random(1)\ndata \"v\": f32[4] = random(2)\n"
      "method forward(%w: f32[4, 4, 1, 1] = param \"w\", %v: f32[4] = param \"v\", "
      "%x: f32[1, 4, 8, 8]) {\n" +
      body + "}\n");
  EXPECT_TRUE(program) << program.error().str();
  auto graph = translate(*program);
  EXPECT_TRUE(graph) << graph.error().str();
  simplify(*graph);
  return std::move(*graph);
}

constexpr const char* conv =
    "%c: f32[1, 4, 8, 8] = aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], "
    "1)\n";

TEST(Simplify, KeepsAClampedValueThatIsUsedElsewhere) {
  const XnnGraph graph = simplified(std::string(conv) +
                                    "%r: f32[1, 4, 8, 8] = aten.relu.default(%c)\n"
                                    "%a: f32[1, 4, 8, 8] = aten.add.Tensor(%c, %r)\nreturn %a\n");
  EXPECT_THAT(print_graph(graph), HasSubstr("Clamp("));
}

TEST(Simplify, JoinsClamps) {
  const XnnGraph graph = simplified(std::string(conv) +
                                    "%r: f32[1, 4, 8, 8] = aten.hardtanh.default(%c, -1.0, 4.0)\n"
                                    "%s: f32[1, 4, 8, 8] = aten.relu.default(%r)\nreturn %s\n");
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].output_min, 0);
  EXPECT_EQ(graph.nodes[0].output_max, 4);
}

TEST(Simplify, KeepsClampsThatLeaveOneNumber) {
  const XnnGraph graph = simplified(std::string(conv) +
                                    "%r: f32[1, 4, 8, 8] = aten.hardtanh.default(%c, -2.0, -1.0)\n"
                                    "%s: f32[1, 4, 8, 8] = aten.relu.default(%r)\nreturn %s\n");
  ASSERT_EQ(graph.nodes.size(), 2U);
}

TEST(Simplify, FoldsFactorsOnlyAlongTheChannels) {
  const XnnGraph graph = simplified(std::string(conv) +
                                    "%v4: f32[4, 1, 1] = aten.view.default(%v, [4, 1, 1])\n"
                                    "%m: f32[1, 4, 8, 8] = aten.mul.Tensor(%c, %v4)\nreturn %m\n");
  ASSERT_EQ(graph.nodes.size(), 1U);
  const XnnGraph other = simplified(
      "%p: f32[1, 4, 8, 4] = aten.slice.Tensor(%x, 3, 0, 4)\n"
      "%c: f32[1, 4, 8, 4] = aten.convolution.default(%p, %w, none, [1, 1], [0, 0], "
      "[1, 1], false, [0, 0], 1)\n"
      "%m: f32[1, 4, 8, 4] = aten.mul.Tensor(%c, %v)\nreturn %m\n");
  EXPECT_THAT(print_graph(other), HasSubstr("Multiply("));
}

TEST(Simplify, FoldsNumbersThroughReshapesAndTransposes) {
  const XnnGraph graph = simplified(std::string(conv) +
                                    "%t: f32[1, 8, 8, 4] = aten.permute.default(%c, [0, 2, 3, 1])\n"
                                    "%r: f32[64, 4] = aten.view.default(%t, [64, 4])\n"
                                    "%m: f32[64, 4] = aten.mul.Scalar(%r, 0.5)\nreturn %m\n");
  EXPECT_THAT(print_graph(graph), Not(HasSubstr("Multiply(")));
  EXPECT_THAT(print_graph(graph), HasSubstr("xnn:scale0(xnn:w,xnn:=f32:3f000000:1)"));
  const XnnGraph shared = simplified(std::string(conv) +
                                     "%r: f32[4, 64] = aten.view.default(%c, [4, 64])\n"
                                     "%m: f32[4, 64] = aten.mul.Scalar(%r, 0.5)\nreturn %m, %r\n");
  EXPECT_THAT(print_graph(shared), HasSubstr("Multiply("));
}

TEST(Simplify, DoesNotFoldBehindAClamp) {
  const XnnGraph graph = simplified(std::string(conv) +
                                    "%r: f32[1, 4, 8, 8] = aten.relu.default(%c)\n"
                                    "%m: f32[1, 4, 8, 8] = aten.mul.Scalar(%r, 2)\nreturn %m\n");
  EXPECT_THAT(print_graph(graph), HasSubstr("Multiply("));
}

TEST(Simplify, FoldsZeroPadsIntoEachConvolution) {
  const std::string pad =
      "%p: f32[1, 4, 10, 9] = aten.constant_pad_nd.default(%x, [0, 1, 2, 0], VALUE)\n"
      "%c: f32[1, 4, 10, 9] = aten.convolution.default(%p, %w, none, [1, 1], [0, 0], [1, 1], "
      "false, [0, 0], 1)\nreturn %c\n";
  auto with_value = [&](const std::string& value) {
    std::string text = pad;
    return print_graph(simplified(text.replace(text.find("VALUE"), 5, value)));
  };
  EXPECT_THAT(with_value("0.0"), HasSubstr("padding 2 1 0 0"));
  EXPECT_THAT(with_value("0.0"), Not(HasSubstr("ConstantPad")));
  EXPECT_THAT(with_value("1.0"), HasSubstr("ConstantPad"));
}

TEST(Simplify, DropsWhatNobodyReads) {
  const XnnGraph graph =
      simplified(std::string(conv) + "%r: f32[1, 4, 8, 8] = aten.neg.default(%x)\nreturn %r\n");
  EXPECT_EQ(graph.nodes.size(), 1U);
}

}  // namespace
}  // namespace depute::xnnpack
