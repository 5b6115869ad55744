#include "lower/weights/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace depute::weights {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

TEST(Order, ComposesAndInverts) {
  const Order order = {2, 0, 1};
  EXPECT_EQ(compose(order, inverse(order)), identity_order(3));
  EXPECT_EQ(compose(inverse(order), order), identity_order(3));
  EXPECT_EQ(permuted({5, 6, 7}, order), (Dims{7, 5, 6}));
}

TEST(Order, IgnoresDimensionsOfSizeOne) {
  EXPECT_TRUE(same_elements({0, 1, 2, 3}, {0, 2, 3, 1}, {2, 8, 1, 1}));
  EXPECT_TRUE(same_elements({0, 1, 2, 3}, {0, 2, 3, 1}, {2, 1, 4, 4}));
  EXPECT_FALSE(same_elements({0, 1, 2, 3}, {0, 2, 3, 1}, {1, 8, 4, 1}));
}

TEST(ReshapedOrder, MergesWhatLiesTogether) {
  EXPECT_THAT(reshaped_order({1, 8, 4, 4}, {1, 8, 16}, nhwc()), Optional(ElementsAre(0, 2, 1)));
  EXPECT_EQ(reshaped_order({1, 8, 4, 4}, {1, 128}, nhwc()), std::nullopt);
  EXPECT_THAT(reshaped_order({2, 8, 4, 4}, {2, 128}, identity_order(4)), Optional(ElementsAre(0, 1)));
}

TEST(ReshapedOrder, SplitsWhatLiesTogether) {
  EXPECT_THAT(reshaped_order({2, 8, 5}, {2, 2, 4, 5}, {0, 2, 1}), Optional(ElementsAre(0, 3, 1, 2)));
}

TEST(ReshapedOrder, MovesDimensionsOfSizeOneFreely) {
  EXPECT_THAT(reshaped_order({2, 8, 1, 1}, {2, 8}, nhwc()), Optional(ElementsAre(0, 1)));
  const Order wish = nhwc();
  EXPECT_THAT(reshaped_order({2, 8}, {2, 8, 1, 1}, {0, 1}, &wish), Optional(ElementsAre(0, 2, 3, 1)));
  EXPECT_THAT(reshaped_order({2, 8}, {2, 8, 1, 1}, {0, 1}), Optional(ElementsAre(0, 1, 2, 3)));
}

TEST(ReshapedOrder, MatchesSymbolicSizes) {
  const SymInt s = SymInt::symbol("s0");
  EXPECT_THAT(reshaped_order({s, 8, 4, 4}, {s, 8, 16}, nhwc()), Optional(ElementsAre(0, 2, 1)));
  EXPECT_THAT(reshaped_order({2, s, 4}, {s * 2, 4}, {0, 1, 2}), Optional(ElementsAre(0, 1)));
  EXPECT_EQ(reshaped_order({2, s, 4}, {s * 2, 4}, {1, 0, 2}), std::nullopt);
}

TEST(ReshapedOrder, KeepsEmptyShapes) {
  EXPECT_THAT(reshaped_order({1, 1}, {}, {1, 0}), Optional(ElementsAre()));
  EXPECT_THAT(reshaped_order({}, {1, 1}, {}), Optional(ElementsAre(0, 1)));
}

}  // namespace
}  // namespace depute::weights
