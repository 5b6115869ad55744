#include "lower/weights/constant.h"

#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace depute::weights {
namespace {

using ::testing::ElementsAre;

TensorData counting(const Dims& sizes) {
  std::vector<float> numbers(
      static_cast<std::size_t>(make_tensor(ScalarType::F32, sizes).static_numel().value()));
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return make_data<float>(ScalarType::F32, sizes, std::span<const float>(numbers));
}

TEST(Constant, KeepsTheProgramsStorage) {
  const TensorData data = counting({2, 3});
  const Constant constant = constant_of("w", data);
  EXPECT_EQ(constant.storage(), data.storage);
  EXPECT_EQ(constant.key(), "xnn:w");
  EXPECT_EQ(reshaped(constant, {3, 2}).storage(), data.storage);
  EXPECT_EQ(reshaped(constant, {3, 2}).key(), "xnn:w");
}

TEST(Constant, PermutesWhenBytesAreAskedFor) {
  const Constant turned = permuted(constant_of("w", counting({2, 3})), {1, 0});
  EXPECT_TRUE(turned.storage()->is_lazy());
  EXPECT_EQ(turned.sizes(), (Dims{3, 2}));
  EXPECT_THAT(to_floats(turned), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(turned.key(), "xnn:w:2x3:10");
}

TEST(Constant, PermutedTwiceIsTheOriginal) {
  const TensorData data = counting({2, 3, 4});
  const Order order = {2, 0, 1};
  const Constant back = permuted(permuted(constant_of("w", data), order), inverse(order));
  EXPECT_EQ(back.storage(), data.storage);
  EXPECT_EQ(back.key(), "xnn:w");
}

TEST(Constant, KeysTellContentsApart) {
  const Constant w = constant_of("w", counting({2, 6}));
  const Constant a = permuted(w, {1, 0});
  const Constant b = permuted(reshaped(w, {3, 4}), {1, 0});
  EXPECT_NE(a.key(), b.key());
  EXPECT_NE(filled(ScalarType::F32, {2}, 1).key(), filled(ScalarType::F32, {3}, 1).key());
  EXPECT_NE(filled(ScalarType::F32, {2}, 1).key(), filled(ScalarType::F16, {2}, 1).key());
  const Constant s = constant_of("s", counting({2}));
  EXPECT_NE(scaled(w, s, 0).key(), scaled(w, filled(ScalarType::F32, {1}, 2), 1).key());
}

TEST(Constant, ReadsStridedAndOffsetViews) {
  TensorData data = counting({4, 3});
  data.type = make_tensor(ScalarType::F32, {2, 2}, {3, 2});
  data.offset = 3;
  EXPECT_THAT(to_floats(constant_of("w", data)), ElementsAre(3, 5, 6, 8));
  data.type = make_tensor(ScalarType::F32, {1, 3});
  EXPECT_THAT(to_floats(constant_of("w", data)), ElementsAre(3, 4, 5));
}

TEST(Constant, ScalesSlices) {
  const Constant w = constant_of("w", counting({2, 3}));
  const Constant rows = constant_of("r", make_data<float>(ScalarType::F32, {2}, std::vector<float>{10, 100}));
  EXPECT_THAT(to_floats(scaled(w, rows, 0)), ElementsAre(0, 10, 20, 300, 400, 500));
  const Constant half = filled(ScalarType::F32, {1}, 0.5);
  EXPECT_THAT(to_floats(scaled(w, half, 1)), ElementsAre(0, 0.5, 1, 1.5, 2, 2.5));
}

TEST(Constant, ConvertsHalves) {
  const std::vector<std::uint16_t> halves = {0x3C00, 0xC000, 0x0001, 0x7C00, 0x0000, 0x3555};
  const TensorData data = make_data<std::uint16_t>(ScalarType::F16, {6}, halves);
  const std::vector<float> floats = to_floats(to_f32(constant_of("h", data)));
  EXPECT_THAT(floats,
              ElementsAre(1.0F, -2.0F, 0x1p-24F, std::numeric_limits<float>::infinity(), 0.0F, 0x1.554p-2F));
  const std::map<double, float> nearest = {{1.0, 1.0F},      {65504.0, 65504.0F},
                                           {1e-7, 0x1p-23F}, {0.1, 0x1.998p-4F},
                                           {-3.5, -3.5F},    {1e6, std::numeric_limits<float>::infinity()}};
  for (const auto& [value, half] : nearest)
    EXPECT_EQ(to_floats(filled(ScalarType::F16, {1}, value))[0], half) << value;
}

}  // namespace
}  // namespace depute::weights
