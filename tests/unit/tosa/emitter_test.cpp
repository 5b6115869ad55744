#include "backends/tosa/emitter.h"

#include <gtest/gtest.h>

#include <limits>

#include "backends/tosa/windows.h"

namespace depute::tosa {
namespace {

class Windows : public ::testing::Test {
 protected:
  // The size that is left of `size`, and the slide.
  std::pair<std::int64_t, Slide> fitted(std::int64_t size, Slide slide, std::int64_t count) {
    const Tensor x = emit_.constant(weights::filled(ScalarType::F32, {1, 1, size}, 0));
    const Tensor made = fit_window(emit_, x, 2, slide, count);
    return {made.shape[2], slide};
  }

  Emitter emit_{nullptr, nullptr};
};

TEST_F(Windows, EndWithTheInput) {
  const auto [size, slide] = fitted(8, {.kernel = 3, .stride = 1, .before = 1, .after = 1}, 8);
  EXPECT_EQ(size, 8);
  EXPECT_EQ(slide.before, 1);
  EXPECT_EQ(slide.after, 1);
}

TEST_F(Windows, LeavePaddingOut) {
  const auto [size, slide] = fitted(8, {.kernel = 3, .stride = 2, .before = 1, .after = 1}, 4);
  EXPECT_EQ(size, 8);
  EXPECT_EQ(slide.after, 0);
}

TEST_F(Windows, CutTheInputOff) {
  const auto [size, slide] = fitted(8, {.kernel = 3, .stride = 2}, 3);
  EXPECT_EQ(size, 7);
  EXPECT_EQ(slide.after, 0);
}

TEST_F(Windows, ReachOverTheEnd) {
  const auto [size, slide] = fitted(8, {.kernel = 3, .stride = 2}, 4);
  EXPECT_EQ(size, 8);
  EXPECT_EQ(slide.after, 1);
}

TEST_F(Windows, AreSpreadByDilation) {
  const auto [size, slide] = fitted(10, {.kernel = 3, .stride = 1, .dilation = 3}, 3);
  EXPECT_EQ(size, 9);
  EXPECT_EQ(slide.after, 0);
}

TEST(Numbers, AreSharedByTheirBits) {
  Emitter emit(nullptr, nullptr);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(emit.number(nan, DType::F32).id, emit.number(nan, DType::F32).id);
  EXPECT_EQ(emit.number(1, DType::F32).id, emit.number(1, DType::F32).id);
  EXPECT_NE(emit.number(0.0, DType::F32).id, emit.number(-0.0, DType::F32).id);
  EXPECT_NE(emit.number(1, DType::F32).id, emit.number(1, DType::I32).id);
  EXPECT_FALSE(emit.refusal());
}

TEST(Numbers, AreRefusedWhereTheTypeHasNone) {
  for (const double value : {128.0, -129.0, 0.5, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    Emitter emit(nullptr, nullptr);
    (void)emit.number(value, DType::I8);
    EXPECT_TRUE(emit.refusal()) << value;
  }
  Emitter emit(nullptr, nullptr);
  for (const double value : {127.0, -128.0}) (void)emit.number(value, DType::I8);
  for (const double value : {2147483647.0, -2147483648.0}) (void)emit.number(value, DType::I32);
  EXPECT_FALSE(emit.refusal());
}

TEST(Slices, OfConstantsAreMadeAtOnce) {
  Emitter emit(nullptr, nullptr);
  const std::vector<std::int32_t> numbers = {0, 1, 2, 3, 4, 5};
  const Tensor x = emit.constant(weights::constant_of(
      "", make_data<std::int32_t>(ScalarType::I32, {2, 3}, std::span<const std::int32_t>(numbers))));
  const Tensor part = emit.slice(x, 1, 1, 2);
  ASSERT_TRUE(emit.is_constant(part));
  const std::shared_ptr<const Storage> storage = emit.data(part).storage();
  const weights::Bytes bytes(storage);
  std::vector<std::int32_t> found(bytes.view().size() / sizeof(std::int32_t));
  std::copy_n(bytes.view().data(), bytes.view().size(), reinterpret_cast<std::byte*>(found.data()));
  EXPECT_EQ(found, (std::vector<std::int32_t>{1, 2, 4, 5}));
}

}  // namespace
}  // namespace depute::tosa
