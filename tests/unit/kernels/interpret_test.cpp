// Whole programs: control flow, delegates, ops that only have a decomposition, and what is refused.
#include "depute/program/interpret.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/program/text.h"
#include "ir/sym/sym_functions.h"
#include "kernels/tensors.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RuntimeValue floats(std::vector<float> numbers) {
  return make_data<float>(ScalarType::F32, {static_cast<std::int64_t>(numbers.size())}, numbers);
}

std::vector<double> numbers_of(const RuntimeValue& content) {
  internal::Elements<double> elements(std::get<TensorData>(content));
  return {elements.begin(), elements.end()};
}

Result<std::vector<RuntimeValue>> run(std::string_view text, std::vector<RuntimeValue> inputs) {
  auto program = parse_program(text);
  if (!program) return Failure(program.error());
  return interpret(*program, *program->methods.front(), inputs);
}

TEST(Interpret, RunsDataSymbolicSizesAndDecompositions) {
  auto outputs = run(R"(program
dim s0 in [1, 64]
data "w": f32[2] = [10, 20]
method forward(%w: f32[2] = param "w", %x: f32[s0]) {
  %n: sym_int[s0] = aten.sym_size.int(%x, 0)
  %view: f32[s0, 1] = aten.view.default(%x, [%n, 1])
  %sum: f32[s0, 2] = aten.add.Tensor(%view, %w)
  %out: f32[s0, 2] = aten.addcmul.default(%sum, %sum, %w, value=2)
  return %out, %n, none
}
)",
                     {floats({1, 2, 3})});
  ASSERT_TRUE(outputs) << outputs.error().str();
  EXPECT_THAT(numbers_of((*outputs)[0]), ElementsAre(231, 861, 252, 902, 273, 943));
  EXPECT_EQ(std::get<std::int64_t>((*outputs)[1]), 3);
  EXPECT_TRUE(std::holds_alternative<std::monostate>((*outputs)[2]));
}

TEST(Interpret, TellsOfEachCallOfABody) {
  auto program = parse_program(R"(program
method forward(%i: i64[], %x: f32[1]) {
  graph @again(%i: i64[], %x: f32[1]) {
    %lt: bool[] = aten.lt.Scalar(%i, 2)
    return %lt
  }
  graph @turn(%i: i64[], %x: f32[1]) {
    %next: i64[] = aten.add.Tensor(%i, 1)
    %twice: f32[1] = aten.add.Tensor(%x, %x)
    return %next, %twice
  }
  %n: i64[], %y: f32[1] = higher_order.while_loop(@again, @turn, [%i, %x], [])
  return %y
}
)");
  ASSERT_TRUE(program) << program.error().str();
  const Method& method = *program->methods.front();
  std::vector<std::pair<std::size_t, double>> calls;
  auto observe = [&](const Node& node, std::size_t argument, std::span<const RuntimeValue> inputs) {
    EXPECT_EQ(&node, &*method.graph->nodes().begin());
    calls.emplace_back(argument, numbers_of(inputs[1])[0]);
  };
  const std::int64_t none[] = {0};
  std::vector<RuntimeValue> inputs{make_data<std::int64_t>(ScalarType::I64, {}, none), floats({3})};
  auto outputs = interpret(*program, method, inputs, observe);
  ASSERT_TRUE(outputs) << outputs.error().str();
  using Call = std::pair<std::size_t, double>;
  EXPECT_THAT(calls, ElementsAre(Call{0, 3}, Call{1, 3}, Call{0, 6}, Call{1, 6}, Call{0, 12}));
}

double number_of(const RuntimeValue& content) {
  if (const auto* integer = std::get_if<std::int64_t>(&content)) return static_cast<double>(*integer);
  if (const auto* truth = std::get_if<bool>(&content)) return *truth ? 1 : 0;
  return std::get<double>(content);
}

std::string_view number_type(sym::ResultKind result) {
  if (result == sym::ResultKind::Truth) return "sym_bool";
  return result == sym::ResultKind::Float ? "sym_float" : "sym_int";
}

// Wherever the function has a value, its op has the same.
void expect_agreement(const SymExpr* call, const sym::FunctionRow& row) {
  std::string_view args = "%a, %b, %c";
  auto program = parse_program(
      fmt::format("program\nmethod forward(%a: sym_int, %b: sym_int, %c: sym_int) {{\n  %r: {} = {}({})\n"
                  "  return %r\n}}\n",
                  number_type(row.result), row.op, args.substr(0, call->args.size() * 4 - 2)));
  ASSERT_TRUE(program) << program.error().str();
  for (std::int64_t i = 0; i < 6 * 6 * 6; ++i) {
    std::int64_t a = i % 6 - 2;
    std::int64_t b = i / 6 % 6 - 2;
    std::int64_t c = i / 36 - 2;
    auto value = evaluate(SymInt(call), {{"a", a}, {"b", b}, {"c", c}});
    if (!value) continue;
    auto results = interpret(*program, *program->methods.front(), std::vector<RuntimeValue>{a, b, c});
    ASSERT_TRUE(results) << results.error().str();
    ASSERT_EQ(number_of(results->front()), static_cast<double>(*value)) << fmt::format("{}, {}, {}", a, b, c);
  }
}

TEST(Interpret, OpsOfSymbolicFunctionsComputeWhatTheirRowsDo) {
  const std::vector<const SymExpr*> symbols = {sym_symbol("a"), sym_symbol("b"), sym_symbol("c")};
  std::span<const sym::FunctionRow> rows = sym::all_functions();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i].name);
    if (rows[i].op.empty() || !has_kernel(Name(rows[i].op))) continue;
    int count = rows[i].arity == sym::any_number ? 2 : rows[i].arity;
    expect_agreement(sym::make_call(static_cast<SymFunction>(i), {symbols.begin(), symbols.begin() + count}),
                     rows[i]);
  }
}

constexpr std::string_view counting = R"(program
method forward(%n: i64[], %x: f32[2]) {
  graph @more(%n: i64[], %x: f32[2]) {
    %c: bool[] = aten.gt.Scalar(%n, 0)
    return %c
  }
  graph @turn(%n: i64[], %x: f32[2]) {
    %m: i64[] = aten.sub.Tensor(%n, 1)
    %y: f32[2] = aten.add.Tensor(%x, %x)
    return %m, %y
  }
  %last: i64[], %r: f32[2] = higher_order.while_loop(@more, @turn, [%n, %x], [])
  return %r
}
)";

TEST(Interpret, RunsLoops) {
  RuntimeValue three = make_data<std::int64_t>(ScalarType::I64, {}, std::vector<std::int64_t>{3});
  auto outputs = run(counting, {three, floats({1, 2})});
  ASSERT_TRUE(outputs) << outputs.error().str();
  EXPECT_THAT(numbers_of((*outputs)[0]), ElementsAre(8, 16));
}

TEST(Interpret, RunsScansAndMapsAndConditions) {
  auto outputs = run(R"(program
method forward(%c: f32[], %xs: f32[3], %k: f32[], %p: bool[]) {
  graph @step(%c: f32[], %x: f32[], %k: f32[]) {
    %s: f32[] = aten.add.Tensor(%c, %x)
    %y: f32[] = aten.mul.Tensor(%s, %k)
    return %s, %y
  }
  graph @each(%x: f32[], %k: f32[]) {
    %y: f32[] = aten.mul.Tensor(%x, %k)
    return %y
  }
  graph @yes(%x: f32[]) {
    return %x
  }
  graph @no(%x: f32[]) {
    %y: f32[] = aten.neg.default(%x)
    return %y
  }
  %last: f32[], %ys: f32[3] = higher_order.scan(@step, [%c], [%xs], [%k])
  %zs: f32[3] = higher_order.map_impl(@each, [%xs], [%k])
  %t: f32[] = higher_order.cond(%p, @yes, @no, [%last])
  return %last, %ys, %zs, %t
}
)",
                     {make_data<float>(ScalarType::F32, {}, std::vector<float>{1}), floats({1, 2, 3}),
                      make_data<float>(ScalarType::F32, {}, std::vector<float>{10}),
                      make_data<std::uint8_t>(ScalarType::Bool, {}, std::vector<std::uint8_t>{0})});
  ASSERT_TRUE(outputs) << outputs.error().str();
  EXPECT_THAT(numbers_of((*outputs)[0]), ElementsAre(7));
  EXPECT_THAT(numbers_of((*outputs)[1]), ElementsAre(20, 40, 70));
  EXPECT_THAT(numbers_of((*outputs)[2]), ElementsAre(10, 20, 30));
  EXPECT_THAT(numbers_of((*outputs)[3]), ElementsAre(-7));
}

TEST(Interpret, RunsADelegateAsItsOriginal) {
  auto original = parse_program(R"(program
data "w": f32[2] = [3, 4]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %y: f32[2] = aten.mul.Tensor(%x, %w)
  return %y
}
)");
  auto program = parse_program(R"(program
delegate d backend "B" {
  blob ""
}
method forward(%x: f32[2]) {
  %y: f32[2] = delegate.call(@d, %x)
  return %y
}
)");
  ASSERT_TRUE(original && program);
  std::vector<RuntimeValue> inputs = {floats({1, 2})};
  auto unknown = interpret(*program, *program->methods.front(), inputs);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("does not have its original program"));
  program->delegates.front()->original = std::make_shared<Program>(std::move(*original));
  auto outputs = interpret(*program, *program->methods.front(), inputs);
  ASSERT_TRUE(outputs) << outputs.error().str();
  EXPECT_THAT(numbers_of((*outputs)[0]), ElementsAre(3, 8));
}

TEST(Interpret, RefusesWhatDoesNotFit) {
  auto too_few = run(counting, {floats({1, 2})});
  ASSERT_FALSE(too_few);
  EXPECT_THAT(too_few.error().message, HasSubstr("got 1 inputs, which does not match the graph"));
  auto wrong_type = run(counting, {floats({1}), floats({1, 2})});
  ASSERT_FALSE(wrong_type);
  EXPECT_THAT(wrong_type.error().message, HasSubstr("expected an input of type i64[]"));
}

TEST(Interpret, RefusesDeepNesting) {
  std::string text = "program\nmethod forward(%p: bool[]) {\n";
  for (int i = 0; i <= max_interpreted_depth; ++i) {
    text += fmt::format("  graph @g{}(%p: bool[]) {{\n", i);
    text += fmt::format("    %q: bool[] = higher_order.cond(%p, @g{0}, @g{0}, [%p])\n    return %q\n  }}\n",
                        i + 1);
  }
  text += fmt::format("  graph @g{}(%p: bool[]) {{\n    return %p\n  }}\n", max_interpreted_depth + 1);
  text += "  %q: bool[] = higher_order.cond(%p, @g0, @g0, [%p])\n  return %q\n}\n";
  auto outputs = run(text, {make_data<std::uint8_t>(ScalarType::Bool, {}, std::vector<std::uint8_t>{1})});
  ASSERT_FALSE(outputs);
  EXPECT_THAT(outputs.error().message, HasSubstr("nested deeper than 32"));
}

}  // namespace
}  // namespace depute
