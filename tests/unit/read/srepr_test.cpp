// sympy's srepr, in which .pt2 files write sizes.
#include "read/pt2/srepr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace depute {
namespace {

using ::testing::HasSubstr;

// The expression's infix text, or the error.
std::string parsed(std::string_view text) {
  auto expr = parse_srepr(text, [](std::string_view name, std::int64_t) { return sym_symbol(name); });
  return expr ? str(*expr) : expr.error().message;
}

TEST(Srepr, ReadsWhatTorchWrites) {
  EXPECT_EQ(parsed("Symbol('s77', positive=True, integer=True)"), "s77");
  EXPECT_EQ(parsed("Integer(-3)"), "-3");
  EXPECT_EQ(parsed("Mul(Integer(2), Symbol('s39', positive=True, integer=True))"), "2*s39");
  EXPECT_EQ(parsed("Add(Mul(Integer(8), Symbol('s27', integer=True)), Integer(16))"), "8*s27 + 16");
  EXPECT_EQ(parsed("FloorDiv(Symbol('a'), Integer(2))"), str(floor_div(SymInt::symbol("a"), 2).expr()));
  EXPECT_EQ(parsed("Max(Integer(1), Symbol('u0', integer=True))"), "Max(1, u0)");
  EXPECT_EQ(parsed("true"), str(sym_call("true", {})));
}

TEST(Srepr, KeepsUnknownFunctionsByName) {
  EXPECT_EQ(parsed("OpaqueUnaryFn_sqrt(Symbol('s0'))"), "OpaqueUnaryFn_sqrt(s0)");
  EXPECT_EQ(parsed("Piecewise(ExprCondPair(Symbol('a'), true), ExprCondPair(Integer(1), false))"),
            str(sym_call("Piecewise", {sym_call("ExprCondPair", {sym_symbol("a"), sym_call("true", {})}),
                                       sym_call("ExprCondPair", {sym_int(1), sym_call("false", {})})})));
}

TEST(Srepr, ReadsFloatsAndFractions) {
  auto expr =
      parse_srepr("Float('0.5', precision=53)", [](std::string_view, std::int64_t) { return sym_int(0); });
  ASSERT_TRUE(expr);
  EXPECT_EQ((*expr)->kind, SymExpr::Kind::Float);
  EXPECT_EQ((*expr)->float_value, 0.5);
  EXPECT_EQ(parsed("Rational(1, 2)"), str(sym_call("Rational", {sym_int(1), sym_int(2)})));
}

TEST(Srepr, TellsTheAssumptionsOfSymbols) {
  std::vector<std::int64_t> least;
  auto source = [&](std::string_view name, std::int64_t value) {
    least.push_back(value);
    return sym_symbol(name);
  };
  ASSERT_TRUE(parse_srepr(
      "Add(Symbol('a', positive=True), Symbol('b', nonnegative=True), Symbol('c', integer=True))", source));
  EXPECT_EQ(least, (std::vector<std::int64_t>{1, 0, Range::min_bound}));
}

TEST(Srepr, RefusesEverythingElse) {
  EXPECT_THAT(parsed(""), HasSubstr("missing"));
  EXPECT_THAT(parsed("Add(Integer(1)"), HasSubstr("closing bracket"));
  EXPECT_THAT(parsed("Integer(1))"), HasSubstr("after the expression"));
  EXPECT_THAT(parsed("Integer(99999999999999999999)"), HasSubstr("64 bits"));
  EXPECT_THAT(parsed("Integer(Symbol('a'))"), HasSubstr("one integer"));
  EXPECT_THAT(parsed("oo"), HasSubstr("neither a call nor an integer"));
  EXPECT_THAT(parsed("Symbol('a"), HasSubstr("not closed"));
  EXPECT_THAT(parsed("Symbol(Integer(1))"), HasSubstr("one name"));
  EXPECT_THAT(parsed("Float('abc')"), HasSubstr("floating-point"));
  EXPECT_THAT(parsed("'a'"), HasSubstr("got a string"));
  EXPECT_THAT(parsed("Add('a')"), HasSubstr("does not accept a string"));
}

TEST(Srepr, LimitsNesting) {
  std::string deep;
  for (std::uint32_t i = 0; i < max_sym_depth; ++i) deep += "f(";
  EXPECT_THAT(parsed(deep), HasSubstr("max_sym_depth"));
}

}  // namespace
}  // namespace depute
