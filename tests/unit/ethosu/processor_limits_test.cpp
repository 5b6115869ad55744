// Refusals of nodes whose operators a processor lacks.
#include "backends/ethosu/processor_limits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/tosa/tosa_backend.h"
#include "tests/unit/parse.h"

namespace depute::ethosu {
namespace {

// The rule and what was seen, or "taken".
std::string answer(const Program& program, std::string_view name, std::string_view processor) {
  const auto partitioner =
      tosa::make_partitioner("ethosu", {"EthosUBackend", {}}, {{"profile", "INT"}}, device_of(processor));
  const auto result = (*partitioner)->partition(program, *program.methods[0]);
  for (const auto& [node, verdict] : result->verdicts) {
    if (node->display_name() != name) continue;
    return verdict.delegated ? "taken" : fmt::format("{}: {}", verdict.rule, verdict.seen);
  }
  return "unknown";
}

// %y is computed of integers, between nodes that dequantize and quantize.
Program quantized(std::string_view x, std::string_view y, std::string_view call) {
  return parse(fmt::format(R"(program
data "w": i8[2, 2, 1, 65] = random(1)
data "t": i8[2, 2, 3, 3] = random(2)
method forward(%w: i8[2, 2, 1, 65] = param "w", %t: i8[2, 2, 3, 3] = param "t", %x: i8{0}) {{
  %w_f: f32[2, 2, 1, 65] = quantized_decomposed.dequantize_per_tensor.default(%w, 0.5, 0, -127, 127, .i8)
  %t_f: f32[2, 2, 3, 3] = quantized_decomposed.dequantize_per_tensor.default(%t, 0.5, 0, -127, 127, .i8)
  %x_f: f32{0} = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, .i8)
  %y: f32{1} = {2}
  %q: i8{1} = quantized_decomposed.quantize_per_tensor.default(%y, 9.0, 0, -128, 127, .i8)
  return %q
}}
)",
                           x, y, call));
}

void expect_limit(const Program& program, std::string_view refusal) {
  EXPECT_EQ(answer(program, "y", "ethos-u55-128"), refusal);
  EXPECT_EQ(answer(program, "y", "ethos-u65-256"), refusal);
  EXPECT_EQ(answer(program, "y", "ethos-u85-256"), "taken");
}

TEST(Limits, Windows) {
  expect_limit(
      quantized("[1, 2, 9, 70]", "[1, 2, 3, 2]",
                "aten.convolution.default(%x_f, %w_f, none, [5, 5], [1, 1], [1, 1], false, [0, 0], 1)"),
      "operator: CONV2D of stride 5");
  expect_limit(
      quantized("[1, 2, 9, 140]", "[1, 2, 2, 3]",
                "aten.convolution.default(%x_f, %w_f, none, [5, 5], [0, 0], [1, 2], false, [0, 0], 1)"),
      "operator: CONV2D of stride 5");
  EXPECT_EQ(
      answer(
          quantized("[1, 2, 9, 70]", "[1, 2, 2, 2]",
                    "aten.convolution.default(%x_f, %w_f, none, [5, 5], [0, 0], [1, 1], false, [0, 0], 1)"),
          "y", "ethos-u55-128"),
      "taken");  // Vela divides it
  EXPECT_EQ(
      answer(
          quantized("[1, 2, 9, 70]", "[1, 2, 5, 3]",
                    "aten.convolution.default(%x_f, %w_f, none, [2, 3], [0, 0], [1, 1], false, [0, 0], 1)"),
          "y", "ethos-u55-128"),
      "taken");
  expect_limit(quantized("[1, 2, 9, 9]", "[1, 2, 2, 2]", "aten.max_pool2d.default(%x_f, [2, 2], [5, 5])"),
               "operator: MAX_POOL2D of stride 5");
  expect_limit(quantized("[1, 2, 12, 12]", "[1, 2, 6, 6]",
                         "aten.avg_pool2d.default(%x_f, [9, 9], [1, 1], [1, 1], false, false)"),
               "operator: AVG_POOL2D of windows of 9 x 9");
  expect_limit(
      quantized("[1, 2, 4, 4]", "[1, 2, 12, 12]",
                "aten.convolution.default(%x_f, %t_f, none, [3, 3], [0, 0], [1, 1], true, [0, 0], 1)"),
      "operator: TRANSPOSE_CONV2D of strides 3 and 3");
}

TEST(Limits, OperatorsThatSmallProcessorsLack) {
  expect_limit(quantized("[1, 2, 4, 4]", "[1, 2, 8, 8]", "aten.upsample_nearest2d.vec(%x_f, [8, 8], none)"),
               "operator: RESIZE");
  const Program program = parse(R"(program
method forward(%b: bool[2, 3], %n: i32[2, 3]) {
  %turned: bool[3, 2] = aten.permute.default(%b, [1, 0])
  %less: bool[2, 3] = aten.lt.Tensor(%n, %n)
  %sum: i32[2, 3] = aten.add.Tensor(%n, %n)
  %narrow: i8[2, 3] = aten._to_copy.default(%n, dtype=.i8)
  %most: i32[2] = aten.amax.default(%n, [1])
  return %turned, %less, %sum, %narrow, %most
}
)");
  EXPECT_EQ(answer(program, "turned", "ethos-u55-128"), "operator: TRANSPOSE of bool");
  EXPECT_EQ(answer(program, "less", "ethos-u55-128"), "operator: GREATER");
  EXPECT_EQ(answer(program, "sum", "ethos-u55-128"), "taken");
  EXPECT_EQ(answer(program, "narrow", "ethos-u55-128"), "operator: CAST of i32 to fewer bits");
  EXPECT_EQ(answer(program, "most", "ethos-u55-128"), "operator: REDUCE_MAX of i32");
  for (const std::string_view name : {"turned", "less", "sum", "narrow", "most"})
    EXPECT_EQ(answer(program, name, "ethos-u85-128"), "taken") << name;
}

TEST(Limits, MovedDimensions) {
  // 64 * 64 are one dimension, of three: they stay side by side.
  EXPECT_EQ(answer(quantized("[1, 32, 1, 64, 64, 128]", "[1, 64, 64, 32, 1, 128]",
                             "aten.permute.default(%x_f, [0, 3, 4, 1, 2, 5])"),
                   "y", "ethos-u55-128"),
            "taken");
  expect_limit(
      quantized("[2, 64, 64, 64, 2]", "[2, 64, 64, 64, 2]", "aten.permute.default(%x_f, [4, 3, 2, 1, 0])"),
      "operator: TRANSPOSE of large dimensions");
}

TEST(Limits, DimensionsAreMergedInDelegates) {
  const Program program = parse(R"(program
method forward(%x: i8[1, 3, 1, 5, 6, 7]) {
  %y: i8[1, 5, 6, 3, 1, 7] = aten.permute.default(%x, [0, 3, 4, 1, 2, 5])
  return %y
}
)");
  const tosa::TosaGraph merged = must(tosa::translate(program, device_of("")));
  const auto move = std::ranges::find(merged.ops, tosa::Op::Transpose, &tosa::TosaOp::op);
  ASSERT_NE(move, merged.ops.end());
  EXPECT_EQ(merged.tensors[move->inputs[0]].shape, (tosa::Shape{3, 30, 7}));
  EXPECT_EQ(std::get<tosa::Permutation>(move->attributes).perms, (std::vector<std::int32_t>{1, 0, 2}));
  EXPECT_EQ(merged.tensors[merged.outputs[0]].shape, (tosa::Shape{1, 5, 6, 3, 1, 7}));
}

}  // namespace
}  // namespace depute::ethosu
