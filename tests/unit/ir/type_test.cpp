// Types: contiguous strides, dimension orders, sizes in bytes, spelling.
#include "depute/program/type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace depute {
namespace {

using testing::ElementsAre;
using testing::Optional;

SymInt s(std::string_view text) {
  return SymInt(*parse_sym(text));
}

TEST(Type, ContiguousStridesAreDropped) {
  EXPECT_TRUE(make_tensor(ScalarType::F32, {2, 3}, {3, 1}).is_contiguous());
  EXPECT_TRUE(make_tensor(ScalarType::F32, {}, {}).is_contiguous());
  EXPECT_TRUE(make_tensor(ScalarType::F32, {2, 1, 3}, {3, 77, 1}).is_contiguous());  // size 1: any stride
  EXPECT_TRUE(make_tensor(ScalarType::F32, {2, 0, 3}, {9, 9, 9}).is_contiguous());   // nothing in it
  EXPECT_TRUE(make_tensor(ScalarType::F32, {2, s("h"), 3}, {s("3*h"), 3, 1}).is_contiguous());
  EXPECT_TRUE(make_tensor(ScalarType::F32, {2, s("u"), 3}, {s("3*Max(1, u)"), 3, 1}).is_contiguous());
  EXPECT_FALSE(make_tensor(ScalarType::F32, {2, 3}, {1, 2}).is_contiguous());
  EXPECT_FALSE(make_tensor(ScalarType::F32, {2, 3}, {6, 1}).is_contiguous());
  EXPECT_EQ(make_tensor(ScalarType::F32, {2, 3}, {3, 1}), make_tensor(ScalarType::F32, {2, 3}));
}

TEST(Type, ContiguousStridesAreTorchs) {
  EXPECT_THAT(contiguous_strides({2, 3, 4}), ElementsAre(SymInt(12), SymInt(4), SymInt(1)));
  EXPECT_THAT(contiguous_strides({3, 0}), ElementsAre(SymInt(1), SymInt(1)));
  EXPECT_THAT(contiguous_strides({3, s("h")}), ElementsAre(s("h"), SymInt(1)));
}

TEST(Type, DimOrder) {
  EXPECT_THAT(dim_order(make_tensor(ScalarType::F32, {2, 3, 4})), Optional(ElementsAre(0, 1, 2)));
  EXPECT_THAT(dim_order(make_tensor(ScalarType::F32, {1, 3, 8, 8}, {192, 1, 24, 3})),
              Optional(ElementsAre(0, 2, 3, 1)));
  EXPECT_THAT(dim_order(make_tensor(ScalarType::F32, {8, 16}, {1, 8})), Optional(ElementsAre(1, 0)));
  EXPECT_EQ(dim_order(make_tensor(ScalarType::F32, {4, 4}, {0, 1})), std::nullopt);  // expanded
  EXPECT_EQ(dim_order(make_tensor(ScalarType::F32, {4, 4}, {8, 1})), std::nullopt);  // a slice
  EXPECT_EQ(dim_order(make_tensor(ScalarType::F32, {4, 4}, {1, 1})), std::nullopt);  // overlapping
}

TEST(Type, DimOrderOfSymbolicSizes) {
  EXPECT_THAT(dim_order(make_tensor(ScalarType::F32, {s("n"), 3, 8, 8}, {192, 1, 24, 3})),
              Optional(ElementsAre(0, 2, 3, 1)));
  EXPECT_THAT(dim_order(make_tensor(ScalarType::F32, {2, 3, s("h"), s("w")}, {s("3*h*w"), 1, s("3*w"), 3})),
              Optional(ElementsAre(0, 2, 3, 1)));
  EXPECT_EQ(dim_order(make_tensor(ScalarType::F32, {2, s("h")}, {s("2*h"), 1})), std::nullopt);
}

TEST(Type, Bytes) {
  EXPECT_THAT(make_tensor(ScalarType::F16, {2, 3}).static_bytes(), Optional(12u));
  EXPECT_THAT(make_tensor(ScalarType::F32, {}).static_bytes(), Optional(4u));
  EXPECT_THAT(make_tensor(ScalarType::F32, {0, std::int64_t{1} << 62, 8}).static_numel(), Optional(0));
  EXPECT_EQ(make_tensor(ScalarType::F32, {s("h")}).static_bytes(), std::nullopt);
  EXPECT_EQ(make_tensor(ScalarType::F32, {std::int64_t{1} << 40, std::int64_t{1} << 40}).static_numel(),
            std::nullopt);
  EXPECT_EQ(make_tensor(ScalarType::F32, {std::int64_t{1} << 62}).static_bytes(), std::nullopt);
  EXPECT_EQ(make_tensor(ScalarType::F32, {-1}).static_numel(), std::nullopt);
}

TEST(Type, Text) {
  EXPECT_EQ(str(make_tensor(ScalarType::F32, {s("s0"), 3})), "f32[s0, 3]");
  EXPECT_EQ(str(make_tensor(ScalarType::BF16, {8, 16}, {1, 8})), "bf16[8, 16]{strides=[1, 8]}");
  EXPECT_EQ(str(make_tensor(ScalarType::Bool, {})), "bool[]");
  EXPECT_EQ(str(sym_type(Type::Kind::SymInt, s("2*s96").expr())), "sym_int[2*s96]");
  EXPECT_EQ(str(sym_type(Type::Kind::SymBool, nullptr)), "sym_bool");
  EXPECT_EQ(str(Type{}), "none");
}

}  // namespace
}  // namespace depute
