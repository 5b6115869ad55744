// Integers of quantized programs: rounding, scales of nodes, and tables of functions.
#include "backends/tosa/integers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "depute/program/builder.h"

namespace depute::tosa {
namespace {

constexpr Quantization quarter = {.scale = 0.25, .zero_point = 3};

const TensorData* no_constant(const Value&) {
  return nullptr;
}

TEST(Integers, TiesGoToEvenNumbersBeforeTheZeroPoint) {
  EXPECT_EQ(quantized(0.125F, quarter), 3);  // 0.5 steps
  EXPECT_EQ(quantized(0.375F, quarter), 5);  // 1.5 steps
  EXPECT_EQ(quantized(-0.125F, quarter), 3);
  EXPECT_EQ(quantized(1000, quarter), 127);
  EXPECT_EQ(quantized(-INFINITY, quarter), -128);
  EXPECT_EQ(quantized(NAN, quarter), -128);
}

TEST(Integers, ATableBetweenEqualScalesKeepsAll) {
  const IntegerTable table = table_between(quarter, quarter);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(table[static_cast<std::size_t>(i)], i - 128);
}

TEST(Integers, OnlyWholeRangesOfI8HaveAScale) {
  Graph graph;
  Builder b(graph);
  Value* x = graph.add_input(Name("x"), tensor_type(make_tensor(ScalarType::F32, {2})));
  const auto quantize = [&](double scale, int zero_point, int least, ScalarType dtype) {
    return quantization_of(*b.call(quantize_op, {x, scale, zero_point, least, 127, dtype})->producer());
  };
  EXPECT_EQ(quantize(0.25, 3, -128, ScalarType::I8), quarter);
  EXPECT_FALSE(quantize(0.25, 3, -127, ScalarType::I8));
  EXPECT_FALSE(quantize(0.25, 3, -128, ScalarType::I16));
  EXPECT_FALSE(quantize(0, 3, -128, ScalarType::I8));
  EXPECT_FALSE(quantize(0.25, 200, -128, ScalarType::I8));
  EXPECT_FALSE(quantization_of(*b.call("aten.relu.default", {x})->producer()));
}

TEST(Integers, TablesAreTheReferenceKernels) {
  Graph graph;
  Builder b(graph);
  Value* x = graph.add_input(Name("x"), tensor_type(make_tensor(ScalarType::F32, {2, 3})));
  const Quantization result = {.scale = 1.0 / 256, .zero_point = -128};
  const auto table =
      table_of(*b.call("aten.sigmoid.default", {x})->producer(), *x, quarter, result, no_constant);
  ASSERT_TRUE(table);
  for (int i = -128; i < 128; ++i) {
    const float number = static_cast<float>(i - 3) * 0.25F;
    EXPECT_EQ((*table)[static_cast<std::size_t>(i + 128)], quantized(1 / (1 + std::exp(-number)), result))
        << i;
  }
}

TEST(Integers, AnOperandThatIsReadTwice) {
  Graph graph;
  Builder b(graph);
  Value* x = graph.add_input(Name("x"), tensor_type(make_tensor(ScalarType::F32, {2, 3})));
  const auto table =
      table_of(*b.call("aten.mul.Tensor", {x, x})->producer(), *x, quarter, quarter, no_constant);
  ASSERT_TRUE(table);
  EXPECT_EQ((*table)[128 + 7], 7);    // 1 * 1
  EXPECT_EQ((*table)[128 + 11], 19);  // 2 * 2
}

}  // namespace
}  // namespace depute::tosa
