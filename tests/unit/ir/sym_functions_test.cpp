// The table of functions, row by row: each is read under all its names, printed so that it reads back, and
// bounded by what contains its values.
#include "ir/sym/sym_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace depute {
namespace {

using Exprs = std::vector<const SymExpr*>;
using Symbols = std::map<std::string, std::int64_t, std::less<>>;

const SymExpr* parsed(std::string_view text) {
  auto expr = parse_sym(text);
  EXPECT_TRUE(expr) << text << ": " << expr.error().str();
  return expr ? *expr : nullptr;
}

// The first symbols of a, b, c.
Exprs symbols(std::size_t count) {
  Exprs all = {sym_symbol("a"), sym_symbol("b"), sym_symbol("c")};
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::string call_text(std::string_view name, std::size_t count) {
  std::string text = std::string(name) + "(";
  for (const SymExpr* symbol : symbols(count)) text += (text.back() == '(' ? "" : ", ") + str(symbol);
  return text + ")";
}

// Every row that has a name of its own, with its function.
template <typename Visit>
void for_each_function(Visit visit) {
  std::span<const sym::FunctionRow> rows = sym::all_functions();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i].name);
    if (!rows[i].is_family) visit(static_cast<SymFunction>(i), rows[i]);
  }
}

TEST(SymFunctions, AreFoundByTheirNames) {
  for_each_function([](SymFunction function, const sym::FunctionRow& row) {
    EXPECT_EQ(sym::function_named(row.name), function);
    EXPECT_EQ(sym::name_of(function), row.name);
    EXPECT_EQ(&sym::row_of(function), &row);
    for (const char* synonym : row.synonyms) {
      if (synonym == nullptr) continue;
      EXPECT_EQ(sym::function_named(synonym), function) << synonym;
    }
    EXPECT_EQ(sym::function_of_word(row.name).has_value(), row.form == sym::Form::Word);
  });
}

// With any number of arguments, those that the function is not computed of among them.
TEST(SymFunctions, PrintAndParseBackUnderAllNames) {
  for_each_function([](SymFunction function, const sym::FunctionRow& row) {
    for (std::size_t count = 0; count <= 3; ++count) {
      const SymExpr* call = sym_call(function, symbols(count));
      EXPECT_EQ(parsed(str(call)), call) << str(call);
      EXPECT_EQ(parsed(call_text(row.name, count)), call) << count;
      for (const char* synonym : row.synonyms) {
        if (synonym == nullptr) continue;
        EXPECT_EQ(parsed(call_text(synonym, count)), call) << synonym;
      }
    }
  });
}

TEST(SymFunctions, AreReadBetweenTheirArguments) {
  for_each_function([](SymFunction function, const sym::FunctionRow& row) {
    if (row.infix.empty() || function == SymFunction::Rational) return;
    EXPECT_EQ(parsed("a " + std::string(row.infix) + " b"), sym_call(function, symbols(2)));
  });
  EXPECT_EQ(parsed("1 / 2"), sym_call(SymFunction::Rational, {sym_int(1), sym_int(2)}));
}

TEST(SymFunctions, FamiliesKeepNames) {
  for (std::string_view name : {"unknown", "OpaqueUnaryFn", "OpaqueUnaryFn_log", "Adder", "add"}) {
    const SymExpr* call = parsed(call_text(name, 1));
    EXPECT_TRUE(sym::row_of(call->function).is_family) << name;
    EXPECT_EQ(call->name, name);
    EXPECT_EQ(sym_call_like(call, {sym_symbol("b")}), parsed(std::string(name) + "(b)"));
    EXPECT_EQ(evaluate(SymInt(call), {{"a", 1}}), std::nullopt);
  }
  EXPECT_EQ(parsed("OpaqueUnaryFn_log(a)")->function, parsed("OpaqueUnaryFn_exp(a)")->function);
  EXPECT_EQ(parsed("unknown(a)")->function, SymFunction::Other);
}

// --- bounds

// The symbols within small ranges.
struct Box {
  std::array<Range, 3> sides;

  Ranges ranges() const { return {{"a", sides[0]}, {"b", sides[1]}, {"c", sides[2]}}; }

  template <typename Visit>
  void for_each_point(Visit visit) const {
    for (std::int64_t a = sides[0].min; a <= sides[0].max; ++a) {
      for (std::int64_t b = sides[1].min; b <= sides[1].max; ++b) {
        for (std::int64_t c = sides[2].min; c <= sides[2].max; ++c)
          visit(Symbols{{"a", a}, {"b", b}, {"c", c}});
      }
    }
  }
};

constexpr std::array<Box, 6> boxes = {{
    {{Range{1, 4}, Range{2, 3}, Range{1, 2}}},
    {{Range{-4, -2}, Range{1, 3}, Range{0, 1}}},
    {{Range{-2, 3}, Range{-2, 2}, Range{-1, 1}}},
    {{Range{0, 5}, Range{-3, -1}, Range{0, 0}}},
    {{Range{3, 3}, Range{2, 2}, Range{-5, -4}}},
    {{Range{-7, 0}, Range{0, 2}, Range{2, 5}}},
}};

void expect_bounds_hold(const SymExpr* expr) {
  for (const Box& box : boxes) {
    Range range = bounds(expr, box.ranges());
    box.for_each_point([&](const Symbols& point) {
      auto value = evaluate(SymInt(expr), point);
      if (!value) return;
      EXPECT_LE(range.min, *value) << str(expr) << " for " << testing::PrintToString(point);
      EXPECT_GE(range.max, *value) << str(expr) << " for " << testing::PrintToString(point);
    });
  }
}

// Symbols, symbols before a number, and halves of symbols.
std::vector<Exprs> arguments(std::size_t count) {
  std::vector<Exprs> lists = {symbols(count)};
  if (count == 0) return lists;
  for (std::int64_t number : {-2, 1, 2, 3}) {
    lists.push_back(symbols(count));
    lists.back().back() = sym_int(number);
  }
  lists.push_back(symbols(count));
  for (const SymExpr*& argument : lists.back()) {
    argument = sym_call(SymFunction::Mul, {sym_float(0.5), argument});
  }
  return lists;
}

TEST(SymFunctions, BoundsContainValues) {
  const SymFunction floor = sym::function_named("FloorToInt");
  for_each_function([&](SymFunction function, const sym::FunctionRow& row) {
    for (std::size_t count = 0; count <= 3; ++count) {
      if (!row.takes(count)) continue;
      for (const Exprs& args : arguments(count)) {
        const SymExpr* call = sym_call(function, args);
        expect_bounds_hold(call);
        expect_bounds_hold(sym_call(floor, {call}));
      }
    }
  });
}

TEST(SymFunctions, BoundsContainTheValuesOfChoices) {
  for (std::string_view text : {"Where(Gt(a, b), a + 1, b*c)", "Where(c, a, b)",
                                "Piecewise(ExprCondPair(a, Lt(a, b)), ExprCondPair(2*b, true))"}) {
    expect_bounds_hold(parsed(text));
    EXPECT_NE(evaluate(SymInt(parsed(text)), {{"a", 1}, {"b", 2}, {"c", 3}}), std::nullopt) << text;
  }
}

// A function that is computed has a value somewhere in the boxes: the test above looks at something.
TEST(SymFunctions, HaveValues) {
  for_each_function([](SymFunction function, const sym::FunctionRow& row) {
    if (row.value == nullptr) return;
    const SymExpr* call = sym_call(function, symbols(row.arity == sym::any_number ? 2 : row.arity));
    std::size_t values = 0;
    for (const Box& box : boxes) {
      box.for_each_point([&](const Symbols& point) { values += evaluate(SymInt(call), point).has_value(); });
    }
    EXPECT_GT(values, 0u);
  });
}

TEST(SymFunctions, FoldNumbersUnlessToldNotTo) {
  for_each_function([](SymFunction function, const sym::FunctionRow& row) {
    if (row.value == nullptr) return;
    Exprs args(row.arity == sym::any_number ? 2 : row.arity, sym_int(4));
    const SymExpr* call = sym_call(function, args);
    bool is_truth = call->function == SymFunction::True || call->function == SymFunction::False;
    EXPECT_EQ(call->kind != SymExpr::Kind::Call || is_truth, row.is_folded) << str(call);
  });
}

}  // namespace
}  // namespace depute
