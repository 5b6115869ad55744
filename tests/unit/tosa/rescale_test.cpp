// Multipliers and shifts of RESCALE, over many factors and the integers that they are applied to.
#include "backends/tosa/rescale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace depute::tosa {
namespace {

// As TOSA defines RESCALE with 32 bits and the rounding SINGLE.
std::int64_t apply(std::int32_t value, const Multiplier& by) {
  const std::int64_t product = std::int64_t{value} * by.multiplier;
  return (product + (std::int64_t{1} << (by.shift - 1))) >> by.shift;
}

TEST(Rescale, KnownFactors) {
  for (const auto& [factor, multiplier, shift] :
       {std::tuple(1.0, 1 << 30, 30), std::tuple(0.5, 1 << 30, 31), std::tuple(0.75, 3 << 29, 31),
        std::tuple(3.0, 3 << 29, 29), std::tuple(0x1p28, 1 << 30, 2), std::tuple(0x1p-32, 1 << 30, 62)}) {
    const auto made = multiplier_of(factor);
    ASSERT_TRUE(made) << factor;
    EXPECT_EQ(made->multiplier, multiplier) << factor;
    EXPECT_EQ(made->shift, shift) << factor;
  }
}

TEST(Rescale, AFractionThatRoundsUpToOne) {
  const auto made = multiplier_of(std::nextafter(1.0, 0.0));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->multiplier, 1 << 30);
  EXPECT_EQ(made->shift, 30);
}

TEST(Rescale, FactorsWithoutAMultiplier) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double factor : {0.0, -1.0, 0x1p29, infinity, -infinity, std::nan("")})
    EXPECT_FALSE(multiplier_of(factor)) << factor;
}

// Factors below 2^-32 have fewer bits, down to none.
TEST(Rescale, SmallFactors) {
  const auto made = multiplier_of(0x1.8p-50);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->shift, 62);
  EXPECT_EQ(made->multiplier, 3 << 11);
  EXPECT_EQ(multiplier_of(1e-30)->multiplier, 0);
}

TEST(Rescale, ManyFactors) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponents(-40, 28);
  std::uniform_int_distribution<std::int32_t> values(-(1 << 30), 1 << 30);
  for (int i = 0; i < 200'000; ++i) {
    const double factor = std::exp2(exponents(random));
    const auto made = multiplier_of(factor);
    ASSERT_TRUE(made) << factor;
    ASSERT_GE(made->shift, 2) << factor;
    ASSERT_LE(made->shift, 62) << factor;
    const double is = std::ldexp(made->multiplier, -made->shift);
    ASSERT_LE(std::abs(is - factor), std::max(factor * 0x1p-31, 0x1p-63)) << factor;
    std::int32_t value = values(random);
    while (std::abs(value * factor) > 0x1p30) value /= 2;
    // Half a step of rounding, and the multiplier's error.
    const double expected = value * factor;
    ASSERT_LE(std::abs(static_cast<double>(apply(value, *made)) - expected),
              0.5 + std::abs(expected) * 0x1p-30 + 0x1p-30)
        << factor << " * " << value;
  }
}

// Integers of 8 bits are multiplied by an exact quotient of scales and rounded: never more than one step from f64.
TEST(Rescale, RatiosOfScales) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> scales(1e-4, 0.3);
  for (int i = 0; i < 2000; ++i) {
    const double factor = scales(random) / scales(random);
    const auto made = multiplier_of(factor);
    ASSERT_TRUE(made);
    for (std::int32_t value = -255; value <= 255; ++value)
      ASSERT_LE(std::abs(static_cast<double>(apply(value, *made)) - value * factor), 0.5 + 1e-6)
          << factor << " * " << value;
  }
}

}  // namespace
}  // namespace depute::tosa
