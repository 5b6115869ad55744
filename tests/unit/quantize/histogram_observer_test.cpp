// The observer against numbers that torchao's HistogramObserver gave (int8, affine, eps 2^-12) for the same
// elements.
#include "quantize/histogram_observer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace depute {
namespace {

enum class Shape { Uniform, Peak, Relu, Skew };

double shaped(double x, Shape shape) {
  switch (shape) {
    case Shape::Uniform:
      return x * 2 - 1;
    case Shape::Peak:
      return std::pow(x * 2 - 1, 5) * 8;
    case Shape::Relu:
      return std::max(x * 4 - 2, 0.0);
    case Shape::Skew:
      return std::pow(x, 8) * 100 - 1;
  }
  return 0;
}

// A generator that any language can repeat.
std::vector<float> numbers(Shape shape, std::uint32_t seed, std::size_t count) {
  std::vector<float> result;
  while (result.size() < count) {
    seed = seed * 1664525U + 1013904223U;
    result.push_back(static_cast<float>(shaped(seed / 4294967296.0, shape)));
  }
  return result;
}

Quantum quantum_of(const std::vector<std::vector<float>>& calls) {
  HistogramObserver observer;
  for (const std::vector<float>& call : calls) EXPECT_TRUE(observer.observe(call));
  return observer.quantum();
}

void expect_quantum(const std::vector<std::vector<float>>& calls, double scale, std::int64_t zero_point) {
  const Quantum quantum = quantum_of(calls);
  EXPECT_NEAR(double{quantum.scale}, scale, 1e-6 * scale);
  EXPECT_EQ(quantum.zero_point, zero_point);
}

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(HistogramObserver, OneCall) {
  expect_quantum({numbers(Shape::Uniform, 1, 4096)}, 0.007835322991013527, 0);
  expect_quantum({numbers(Shape::Peak, 2, 20000)}, 0.062429118901491165, 0);
  expect_quantum({numbers(Shape::Skew, 9, 30000)}, 0.3917028307914734, -125);
}

TEST(HistogramObserver, TheRangeGrows) {
  expect_quantum(
      {numbers(Shape::Uniform, 3, 5000), numbers(Shape::Peak, 4, 5000), numbers(Shape::Skew, 5, 5000)},
      0.41603532433509827, -109);
}

TEST(HistogramObserver, TheRangeStays) {
  expect_quantum(
      {numbers(Shape::Relu, 6, 3000), numbers(Shape::Relu, 7, 3000), numbers(Shape::Uniform, 8, 3000)},
      0.011746152304112911, -43);
}

TEST(HistogramObserver, FewNumbers) {
  expect_quantum({{0}}, 0.000244140625, -128);
  expect_quantum({{3, 3}}, 0.0117647061124444, -128);
  expect_quantum({{3}, {5, -1}}, 0.023517923429608345, -85);
  expect_quantum({{-2, -1.5F, -4}}, 0.01568627543747425, 127);
  expect_quantum({{1e-7F, 2e-7F}}, 0.000244140625, -128);
}

TEST(HistogramObserver, TheRangeReachesAsFarAsAsked) {
  HistogramObserver observer;
  ASSERT_TRUE(observer.observe(std::vector<float>{0, 1, 2}));
  const Quantum wide = observer.quantum(-8);
  EXPECT_NEAR(wide.scale * 255, 10, 0.02);
  EXPECT_EQ(wide.zero_point, 76);
  EXPECT_EQ(observer.quantum(1), observer.quantum());
}

TEST(HistogramObserver, TheSmallestScaleIsAsked) {
  HistogramObserver observer;
  ASSERT_TRUE(observer.observe(std::vector<float>{1e-7F, 2e-7F}));
  EXPECT_EQ(observer.quantum(0, 0x1p-16F).scale, 0x1p-16F);
}

TEST(HistogramObserver, InfinitiesAreSkipped) {
  expect_quantum({{1, infinity, 2}}, 0.007841221988201141, -128);
  HistogramObserver observer;
  EXPECT_TRUE(observer.observe(std::vector<float>{infinity, -infinity}));
  EXPECT_TRUE(observer.observe({}));
  EXPECT_FALSE(observer.has_seen());
}

TEST(HistogramObserver, NaNsAreTold) {
  HistogramObserver observer;
  EXPECT_FALSE(observer.observe(std::vector<float>{1, std::nanf("")}));
  EXPECT_FALSE(observer.has_seen());
}

TEST(HistogramObserver, TheLargestNumbers) {
  constexpr float most = std::numeric_limits<float>::max();
  EXPECT_FALSE(std::isfinite(quantum_of({{-most, 0, most}}).scale));
}

}  // namespace
}  // namespace depute
