// Backend ops outside of delegates: on their own kernel, or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/backend/backend_op.h"
#include "depute/program/text.h"
#include "plan/plan.h"
#include "plan/plan_text.h"
#include "tests/unit/refusal_log.h"

namespace depute {
namespace {

using ::testing::HasSubstr;

// The table that all tests here add to, each its own names.
const std::shared_ptr<BackendOps>& ops() {
  static const auto all = std::make_shared<BackendOps>();
  return all;
}

constexpr const char* op_pattern = R"(program
method mul_relu(%a: none, %b: none) {
  %m: none = aten.mul.Tensor(%a, %b)
  %r: none = aten.relu.default(%m)
  return %r
}
)";

Result<Plan> plan_of(const std::string& name, const std::string& kernel) {
  EXPECT_TRUE(ops()->add_library("plan_test").has_value());
  EXPECT_TRUE(ops()->add({.name = name, .pattern = op_pattern, .kernel = kernel}).has_value());
  auto program = parse_program("program\nmethod forward(%x: f32[2], %y: f32[2]) {\n  %r: f32[2] = " + name +
                                   "(%x, %y) from \"model.py\":4\n  return %r\n}\n",
                               "<text>", ops());
  EXPECT_TRUE(program.has_value()) << program.error().str();
  return make_plan(*program);
}

TEST(BackendOpPlan, RunsOnItsOwnKernel) {
  auto plan = plan_of("plan_test.mul_relu.default", "plan_test::mul_relu.out");
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  EXPECT_THAT(plan_text(plan->methods[0]), HasSubstr("plan_test::mul_relu.out(%0, %1, %2, %2)"));
}

// The buffer is written where it lies, the value of the program in a copy, since it is needed as it was.
TEST(BackendOpPlan, AKernelWritesToItsArguments) {
  EXPECT_TRUE(ops()->add_library("plan_test").has_value());
  ASSERT_TRUE(
      ops()->add({.name = "plan_test.put.default",
                  .kernel = "plan_test::put",
                  .schema = "plan_test.put.default(Tensor(a!) to, Tensor x, Tensor(b!)? seen=None) -> ()"}));
  auto program = parse_program(R"(program
data "b": f32[2] = zeros
method forward(%b: f32[2] = buffer "b", %x: f32[2]) {
  %y: f32[2] = aten.sin.default(%x)
  %b1: f32[2], %y1: f32[2] = plan_test.put.functional(%b, %x, %y)
  %b2: f32[2], %n: none = plan_test.put.functional(%b1, %y1)
  %z: f32[2] = aten.add.Tensor(%y, %y1)
  store buffer "b" = %b2
  return %z
}
)",
                               "<text>", ops());
  ASSERT_TRUE(program.has_value()) << program.error().str();
  auto plan = make_plan(*program);
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  EXPECT_THAT(plan->own_kernels, testing::ElementsAre("plan_test::put"));
  const std::string text = plan_text(plan->methods[0]);
  EXPECT_THAT(text,
              HasSubstr("  1  aten::clone.out(%2, none, %4, %4)\n  2  plan_test::put(%3, %1, %4, none)\n"));
  EXPECT_THAT(text, HasSubstr("  3  plan_test::put(%7, %4, none, none)\n"));
  EXPECT_THAT(text, HasSubstr("%7: f32[2] = memory 2 + 0"));
  EXPECT_EQ(text.find("copy_"), text.npos);
}

constexpr const char* all_kinds =
    "plan_test.all.default(Tensor x, Tensor? y, Tensor[] more, int n, float f=2, bool b=False, int[] "
    "axes=[1, 2], "
    "*, Scalar s=3, str mode=\"fast\", float[]? weights=None, ScalarType? dtype=None) -> (Tensor, Tensor)";

Result<Plan> plan_of_all(const std::string& arguments, const std::string& kernel = "plan_test::all.out") {
  EXPECT_TRUE(ops()->add_library("plan_test").has_value());
  std::string name = kernel.empty() ? "plan_test.all.none" : "plan_test.all.default";
  std::string schema = all_kinds;
  schema.replace(0, schema.find('('), name);
  auto registered = ops()->add({.name = name, .kernel = kernel, .schema = schema});
  EXPECT_TRUE(registered.has_value()) << registered.error().str();
  auto program = parse_program("program\nmethod forward(%x: f32[2]) {\n  %p: f32[2], %q: f32[2] = " + name +
                                   "(" + arguments + ") from \"model.py\":4\n  return %p, %q\n}\n",
                               "<text>", ops());
  EXPECT_TRUE(program.has_value()) << program.error().str();
  return make_plan(*program);
}

TEST(BackendOpPlan, ItsKernelGetsAllArgumentsInTheSchemasOrder) {
  auto plan = plan_of_all("%x, none, [%x, %x], 7");
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  const ExecutionPlan& method = plan->methods[0];
  ASSERT_EQ(method.instructions.size(), 1);
  EXPECT_EQ(method.operators[0].str(), "plan_test::all.out");
  using Kind = EValue::Kind;
  std::vector<Kind> kinds;
  std::vector<const EValue*> values;
  for (std::int32_t index : method.args_of(method.instructions[0])) {
    values.push_back(&method.values[static_cast<std::size_t>(index)]);
    kinds.push_back(values.back()->kind);
  }
  EXPECT_THAT(kinds, testing::ElementsAre(Kind::Tensor, Kind::Null, Kind::TensorList, Kind::Int, Kind::Double,
                                          Kind::Bool, Kind::IntList, Kind::Int, Kind::String, Kind::Null,
                                          Kind::Null, Kind::Tensor, Kind::Tensor, Kind::Tensor));
  EXPECT_EQ(values[3]->int_value, 7);
  EXPECT_EQ(values[4]->double_value, 2.0);
  EXPECT_EQ(values[7]->int_value, 3);
  EXPECT_EQ(method.strings[values[8]->first], "fast");
}

TEST(BackendOpPlan, KeywordsAndGivenValuesTakeTheirPlaces) {
  auto plan = plan_of_all("%x, %x, [], 1, 3, true, [4], s=0.5, mode=\"slow\", weights=[0.25]");
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  const ExecutionPlan& method = plan->methods[0];
  auto args = method.args_of(method.instructions[0]);
  auto value = [&](std::size_t i) { return method.values[static_cast<std::size_t>(args[i])]; };
  EXPECT_EQ(value(4).double_value, 3.0);  // an int where the kernel takes a float
  EXPECT_EQ(value(4).kind, EValue::Kind::Double);
  EXPECT_EQ(value(5).int_value, 1);
  EXPECT_EQ(value(6).count, 1);
  EXPECT_EQ(value(7).double_value, 0.5);
  EXPECT_EQ(method.strings[value(8).first], "slow");
  EXPECT_EQ(value(9).kind, EValue::Kind::DoubleList);
}

TEST(BackendOpPlan, AKernelOfTheRuntimeWithOtherArgumentsIsRefused) {
  EXPECT_TRUE(ops()->add_library("plan_test").has_value());
  EXPECT_TRUE(ops()->add({.name = "plan_test.other.default",
                          .kernel = "aten::mul.out",
                          .schema = "plan_test.other.default(Tensor x) -> Tensor"}));
  auto program = parse_program(
      "program\nmethod forward(%x: f32[2]) {\n  %r: f32[2] = plan_test.other.default(%x)\n  return %r\n}\n",
      "<text>", ops());
  auto plan = make_plan(*program);
  ASSERT_TRUE(is_refused(plan));
  EXPECT_THAT(plan.error().str(), HasSubstr("aten::mul.out requires"));
}

TEST(BackendOpPlan, WithoutAKernelItIsRefusedOutsideOfADelegate) {
  auto plan = plan_of("plan_test.no_kernel.default", "");
  ASSERT_TRUE(is_refused(plan));
  EXPECT_THAT(plan.error().str(), HasSubstr("no kernel for plan_test.no_kernel.default"));
  EXPECT_THAT(plan.error().str(), HasSubstr("model.py:4"));
}

}  // namespace
}  // namespace depute
