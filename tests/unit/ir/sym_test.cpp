// Symbolic integers: identities, the text form, and by random expressions that simplification keeps values
// and bounds hold.
#include "depute/program/sym.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "ir/sym/replace_symbols.h"
#include "support/check.h"

namespace depute {
namespace {

std::string simplified(std::string_view text) {
  auto expr = parse_sym(text);
  return expr ? str(*expr) : expr.error().str();
}

TEST(Sym, CanonicalSumsAndProducts) {
  SymInt h = SymInt::symbol("h");
  SymInt w = SymInt::symbol("w");
  EXPECT_EQ(h + h, h * 2);
  EXPECT_EQ(h + w, w + h);
  EXPECT_EQ(h * w * 3, w * 3 * h);
  EXPECT_EQ(h - h, 0);
  EXPECT_EQ((h + 1) * 2, h * 2 + 2);
  EXPECT_EQ((h + w + 1).str(), "h + w + 1");
  EXPECT_EQ((h - w - 1).str(), "h - w - 1");
  EXPECT_EQ(simplified("2*(h - inf)"), "2*h - inf");
  EXPECT_EQ(simplified("h + 0.5 + 0.5"), "h + 0.5 + 0.5");
  EXPECT_EQ((w * -1 - h).str(), "-h - w");
  EXPECT_EQ(h * h * h, SymInt(sym_call("Pow", {h.expr(), sym_int(3)})));
}

TEST(Sym, ConstantsStayNumbers) {
  EXPECT_TRUE((SymInt(2) + 3).is_constant());
  EXPECT_EQ(floor_div(-7, 2), -4);
  EXPECT_EQ(mod(-7, 2), 1);
  EXPECT_EQ(mod(7, -2), -1);
  EXPECT_EQ(sym_max(3, 4), 4);
  EXPECT_EQ(sym_min(3, 4), 3);
  EXPECT_EQ(SymInt(sym_int(5)), 5);
}

TEST(Sym, OverflowIsNotEvaluated) {
  SymInt big = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE((big + 1).is_constant());
  EXPECT_FALSE((big * 2).is_constant());
  EXPECT_EQ(big + 1, SymInt(1) + big);
  EXPECT_EQ(evaluate(big + 1, {}), std::nullopt);
  EXPECT_FALSE(floor_div(std::numeric_limits<std::int64_t>::min(), -1).is_constant());
  EXPECT_FALSE(floor_div(SymInt::symbol("h"), 0).is_constant());
}

TEST(Sym, DivisionRules) {
  EXPECT_EQ(simplified("(4*a + b)//2"), "2*a + (b//2)");
  EXPECT_EQ(simplified("(6*a + 4*b)//4"), "b + (3*a//2)");
  EXPECT_EQ(simplified("a*b//b"), "a");
  EXPECT_EQ(simplified("a*b*6//(2*b)"), "3*a");
  EXPECT_EQ(simplified("4*b*a**2//(4*a*b)"), "a");
  EXPECT_EQ(simplified("(a**2*b + a)//(a*c)"), "((a*b + 1)//c)");
  EXPECT_EQ(simplified("a*b//(a*(b + 1))"), "(b//(b + 1))");
  EXPECT_EQ(simplified("(a*b + 1)//(a*c)"), "((a*b + 1)//(a*c))");
  EXPECT_EQ(simplified("(a//2)//3"), "(a//6)");
  EXPECT_EQ(simplified("(a//2)//-3"), "((a//2)//(-3))");
  EXPECT_EQ(simplified("a//a"), "1");
  EXPECT_EQ(simplified("Mod(4*a + b + 6, 4)"), "Mod(b + 2, 4)");
  EXPECT_EQ(simplified("Mod(a*b, b)"), "0");
  EXPECT_EQ(simplified("CeilDiv(4*a, 2)"), "2*a");
  EXPECT_EQ(simplified("Mod(-Mod(a, 4), 4)"), "Mod(-a, 4)");
  EXPECT_EQ(simplified("Mod(a - Mod(a, 8), 4)"), "0");
  EXPECT_EQ(simplified("Mod(Mod(Mod(a, 6) + b, 4), 2)"), "Mod(a + b, 2)");
  EXPECT_EQ(simplified("Mod(Mod(a, 6), 4)"), "Mod(Mod(a, 6), 4)");
  EXPECT_EQ(simplified("Mod(b*Mod(a, 4), 4)"), "Mod(b*Mod(a, 4), 4)");
  EXPECT_EQ(simplified("(a + Mod(-a, 2))//((a + Mod(-a, 2))//2)"), "2");
  EXPECT_EQ(simplified("(a + Mod(-a, 3))//((a + Mod(-a, 3))//2)"),
            "((a + Mod(-a, 3))//((a + Mod(-a, 3))//2))");
  EXPECT_EQ(simplified("4*b*((a + Mod(-a, 2))//2)"), "2*b*(a + Mod(-a, 2))");
  EXPECT_EQ(simplified("3*b*((a + Mod(-a, 2))//2)"), "3*b*((a + Mod(-a, 2))//2)");
  // A half times an even number need not be even.
  EXPECT_EQ(simplified("(4*(1/2*a) + b)//2"), "((b + 4*a*Rational(1, 2))//2)");
}

TEST(Sym, Relations) {
  EXPECT_EQ(simplified("a < a + 1"), "true");
  EXPECT_EQ(simplified("Equality(a, a)"), "true");
  EXPECT_EQ(simplified("GreaterThan(a, b)"), "Ge(a, b)");
  EXPECT_EQ(simplified("And(1 < 2, 2 <= 2)"), "true");
  EXPECT_EQ(simplified("Where(2 < 1, a, b)"), "b");
}

TEST(Sym, FunctionsThatTorchWritesReadBack) {
  for (std::string_view text : {"Piecewise(ExprCondPair(a, Lt(a, b)), ExprCondPair(b, true))",
                                "LShift(a, b)",
                                "RShift(a, 1)",
                                "FloatPow(a, 0.5)",
                                "FloatTrueDiv(a, 3.0)",
                                "IntTrueDiv(a, b)",
                                "ToFloat(a)",
                                "TruncToInt(ToFloat(a)*2.5)",
                                "TruncToFloat(x)",
                                "CeilToInt(x)",
                                "FloorToInt(x)",
                                "RoundToInt(x)",
                                "RoundDecimal(x, 2)",
                                "OpaqueUnaryFn_sqrt(a)",
                                "Or(p, q)",
                                "Not(Ne(a, 1))",
                                "Max(1, a, b)",
                                "Min(1, a)",
                                "Where(Gt(a, 1), a, b)",
                                "new_function(a)",
                                "no_arguments()"}) {
    EXPECT_EQ(simplified(text), text);
  }
}

TEST(Sym, OddNamesAndNumbersReadBack) {
  SymInt odd = SymInt::symbol("a \"b\"\n\\") + SymInt::symbol("true") * 2;
  EXPECT_EQ(simplified(odd.str()), odd.str());
  for (const SymExpr* expr :
       {sym_float(0.1), sym_float(-1e300), sym_float(-HUGE_VAL), sym_int(Range::min_bound),
        sym_call("Add", {sym_symbol("a"), sym_call("Mul", {sym_int(Range::min_bound), sym_symbol("b")})})}) {
    auto again = parse_sym(str(expr));
    ASSERT_TRUE(again) << str(expr);
    EXPECT_EQ(*again, expr) << str(expr);
  }
}

TEST(Sym, FaultsNameTheirColumn) {
  EXPECT_EQ(simplified("a +"), "[parse_sym] column 4: an expression is missing");
  EXPECT_EQ(simplified("(a"), "[parse_sym] column 3: expected ')'");
  EXPECT_EQ(simplified("a b"), "[parse_sym] column 3: unexpected text after the expression");
  EXPECT_EQ(simplified("92233720368547758080"), "[parse_sym] column 1: an integer that does not fit 64 bits");
}

TEST(Sym, LimitsAreNamed) {
  EXPECT_THAT(simplified(std::string(1000, '(') + "a"), testing::HasSubstr("max_sym_depth (256)"));
  EXPECT_THAT(simplified(std::string(1000, '-') + "a"), testing::HasSubstr("max_sym_depth (256)"));
  std::string sum = "a0";
  for (int i = 1; i < 10000; ++i) sum += " + a" + std::to_string(i);
  EXPECT_THAT(simplified(sum), testing::HasSubstr("max_sym_size (4096)"));
}

// What grows without end becomes a symbol: still equal to itself, and quick to print.
TEST(Sym, HugeExpressionsBecomeStandIns) {
  auto grow = [] {
    SymInt x = SymInt::symbol("x");
    for (int i = 0; i < 1000; ++i) x = floor_div(x * x + i, 3);
    return x;
  };
  SymInt x = grow();
  EXPECT_EQ(x, grow());
  EXPECT_LT(x.str().size(), 100000u);
  EXPECT_LE(x.expr()->depth, max_sym_depth);
  EXPECT_LE(x.expr()->size, max_sym_size);
}

TEST(Sym, SymbolsInFirstSeenOrder) {
  auto expr = parse_sym("Max(b, a*b, c)");
  ASSERT_TRUE(expr);
  EXPECT_THAT(symbols_of(*expr), testing::ElementsAre(Name("b"), Name("c"), Name("a")));
}

TEST(Sym, SameExpressionsFromManyThreads) {
  std::vector<const SymExpr*> found(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < found.size(); ++t) {
      threads.emplace_back([&found, t] {
        SymInt x = SymInt::symbol("thread_x");
        for (int i = 0; i < 200; ++i) x = sym_max(x + i, x * 2);
        found[t] = x.expr();
      });
    }
  }
  for (const SymExpr* expr : found) EXPECT_EQ(expr, found[0]);
}

// --- bounds

Range bounds_of(std::string_view text, const Ranges& ranges) {
  return bounds(*parse_sym(text), ranges);
}

TEST(SymBounds, Examples) {
  Ranges ranges = {{"s0", {1, 64}}, {"n", {-3, 5}}, {"u", {0, Range::max_bound}}};
  EXPECT_EQ(bounds_of("2*s0 + 1", ranges), (Range{3, 129}));
  EXPECT_EQ(bounds_of("(s0//2)", ranges), (Range{0, 32}));
  EXPECT_EQ(bounds_of("s0//n", ranges), (Range{-64, 64}));
  EXPECT_EQ(bounds_of("Mod(s0, 8)", ranges), (Range{0, 7}));
  EXPECT_EQ(bounds_of("Mod(u, 8)", ranges), (Range{0, 7}));
  EXPECT_EQ(bounds_of("n**2", ranges), (Range{0, 25}));
  EXPECT_EQ(bounds_of("n**3", ranges), (Range{-27, 125}));
  EXPECT_EQ(bounds_of("u + 1", ranges), (Range{1, Range::max_bound}));
  EXPECT_EQ(bounds_of("-u", ranges), (Range{Range::min_bound, 0}));
  EXPECT_EQ(bounds_of("Min(u, 7)", ranges), (Range{0, 7}));
  EXPECT_EQ(bounds_of("CeilDiv(s0, 8)", ranges), (Range{1, 8}));
  EXPECT_EQ(bounds_of("unknown", ranges), (Range{}));
  EXPECT_EQ(bounds_of("unknown(s0)", ranges), (Range{}));
  EXPECT_EQ(bounds_of("s0 < 100", ranges), (Range{0, 1}));
  EXPECT_EQ(bounds_of("TruncToInt(2.5*ToFloat(s0))", ranges), (Range{2, 160}));
  EXPECT_EQ(bounds_of("FloorToInt(IntTrueDiv(s0, 3))", ranges), (Range{0, 21}));
}

TEST(SymBounds, KeysMayBeExpressions) {
  Ranges ranges = {{"2*s0", {5, 64}}, {"s1 + 3", {4, 10}}, {"s2*s3", {1, 9}}};
  EXPECT_EQ(bounds_of("s0", ranges), (Range{3, 32}));
  EXPECT_EQ(bounds_of("2*s0", ranges), (Range{6, 64}));
  EXPECT_EQ(bounds_of("s1", ranges), (Range{1, 7}));
  EXPECT_EQ(bounds_of("s3*s2 + 1", ranges), (Range{2, 10}));
}

TEST(SymBounds, DifferencesHaveBothSigns) {
  Ranges ranges = {{"s0 - u0", {0, 5}}};
  EXPECT_EQ(bounds_of("s0 - u0", ranges), (Range{0, 5}));
  EXPECT_EQ(bounds_of("u0 - s0", ranges), (Range{-5, 0}));
}

TEST(SymBounds, Saturate) {
  Ranges ranges = {{"s0", {1, Range::max_bound / 2}}};
  EXPECT_EQ(bounds_of("s0*s0", ranges), (Range{1, Range::max_bound}));
  EXPECT_EQ(bounds_of("-4*s0", ranges), (Range{Range::min_bound, -4}));
}

// --- random expressions

using Symbols = std::map<std::string, std::int64_t, std::less<>>;

// An expression, and beside it its value by plain arithmetic; no value when something divides by zero.
struct Sample {
  SymInt expr;
  std::optional<std::int64_t> value;
};

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  std::int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

class SymGenerator {
 public:
  explicit SymGenerator(std::uint32_t seed) : random_(seed) {
    for (const char* name : {"a", "b", "c"}) symbols[name] = pick(-6, 6);
  }

  Sample expression(int depth) {
    if (depth == 0 || pick(0, 5) == 0) return leaf();
    Sample x = expression(depth - 1);
    Sample y = expression(depth - 1);
    bool have_both = x.value && y.value;
    std::int64_t a = x.value.value_or(0);
    std::int64_t b = y.value.value_or(0);
    switch (pick(0, 7)) {
      case 0:
        return {x.expr + y.expr, have_both ? std::optional(a + b) : std::nullopt};
      case 1:
        return {x.expr - y.expr, have_both ? std::optional(a - b) : std::nullopt};
      case 2:
        return {x.expr * y.expr, have_both ? std::optional(a * b) : std::nullopt};
      case 3:
        return {floor_div(x.expr, y.expr),
                have_both && b != 0 ? std::optional(floor_quotient(a, b)) : std::nullopt};
      case 4:
        return {mod(x.expr, y.expr),
                have_both && b != 0 ? std::optional(a - b * floor_quotient(a, b)) : std::nullopt};
      case 5:
        return {sym_max(x.expr, y.expr), have_both ? std::optional(std::max(a, b)) : std::nullopt};
      case 6:
        return {sym_min(x.expr, y.expr), have_both ? std::optional(std::min(a, b)) : std::nullopt};
      default:
        return {SymInt(sym_call("CeilDiv", {x.expr.expr(), y.expr.expr()})),
                have_both && b != 0 ? std::optional(-floor_quotient(-a, b)) : std::nullopt};
    }
  }

  // Ranges that hold for the symbols, of any tightness.
  Ranges ranges() {
    Ranges result;
    for (const auto& [name, value] : symbols) {
      Range range = {value - pick(0, 4), value + pick(0, 4)};
      if (pick(0, 5) == 0) range.max = Range::max_bound;
      if (pick(0, 5) == 0) range.min = Range::min_bound;
      if (pick(0, 7) != 0) result[name] = range;
    }
    return result;
  }

  Symbols symbols;

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  Sample leaf() {
    if (pick(0, 2) == 0) {
      std::int64_t value = pick(-4, 4);
      return {value, value};
    }
    auto symbol = std::next(symbols.begin(), pick(0, 2));
    return {SymInt::symbol(symbol->first), symbol->second};
  }

  std::mt19937 random_;
};

TEST(SymProperty, SimplificationKeepsValuesBoundsHoldAndTextReadsBack) {
  for (std::uint32_t seed = 0; seed < 8000; ++seed) {
    SymGenerator generator(seed);
    Sample sample = generator.expression(4);
    std::string text = sample.expr.str();
    auto again = parse_sym(text);
    ASSERT_TRUE(again) << text << ": " << again.error().str();
    ASSERT_EQ(SymInt(*again), sample.expr) << "seed " << seed << ": " << text << " reads as " << str(*again);
    if (!sample.value) continue;
    ASSERT_EQ(evaluate(sample.expr, generator.symbols), sample.value) << "seed " << seed << ": " << text;
    Range range = bounds(sample.expr, generator.ranges());
    ASSERT_LE(range.min, *sample.value) << "seed " << seed << ": " << text;
    ASSERT_GE(range.max, *sample.value) << "seed " << seed << ": " << text;
  }
}

TEST(SymInt, HasNoValueWhileItIsOpen) {
  EXPECT_EQ(SymInt(3).value(), 3);
  EXPECT_EQ((SymInt::symbol("s0") - SymInt::symbol("s0")).value(), 0);
  EXPECT_THROW((void)SymInt::symbol("s0").value(), InternalError);
}

TEST(ReplaceSymbols, EverywhereInAnExpressionOrAType) {
  const auto prefixed = [](std::string_view name) { return sym_symbol("x" + std::string(name)); };
  auto expr = parse_sym("2*s0 + Max(1, s0*s1)");
  ASSERT_TRUE(expr);
  EXPECT_EQ(replace_symbols(*expr, prefixed), *parse_sym("2*xs0 + Max(1, xs0*xs1)"));
  const Type type = tensor_type(make_tensor(ScalarType::F32, {SymInt(*expr), 2}, {SymInt::symbol("s1"), 1}));
  const Type renamed = replace_symbols(type, prefixed);
  EXPECT_EQ(renamed.tensor.sizes[0].str(), SymInt(*parse_sym("2*xs0 + Max(1, xs0*xs1)")).str());
  EXPECT_EQ(renamed.tensor.strides[0].str(), "xs1");
  EXPECT_EQ(renamed.tensor.sizes[1], 2);
}

}  // namespace
}  // namespace depute
