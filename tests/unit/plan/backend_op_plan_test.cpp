// Backend ops outside of delegates: on their own kernel, or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/parse.h"
#include "lower/backend_op.h"
#include "plan/plan.h"
#include "plan/plan_text.h"

namespace depute {
namespace {

using ::testing::HasSubstr;

constexpr const char* pattern = R"(program
method mul_relu(%a: none, %b: none) {
  %m: none = aten.mul.Tensor(%a, %b)
  %r: none = aten.relu.default(%m)
  return %r
}
)";

Result<Plan> plan_of(const std::string& name, const std::string& kernel) {
  EXPECT_TRUE(add_backend_library("plan_test").has_value());
  EXPECT_TRUE(register_backend_op({.name = name, .pattern = pattern, .kernel = kernel}).has_value());
  auto program = parse_program("program\nmethod forward(%x: f32[2], %y: f32[2]) {\n  %r: f32[2] = " + name +
                               "(%x, %y) from \"model.py\":4\n  return %r\n}\n");
  EXPECT_TRUE(program.has_value()) << program.error().str();
  return make_plan(*program);
}

TEST(BackendOpPlan, RunsOnItsOwnKernel) {
  auto plan = plan_of("plan_test.mul_relu.default", "plan_test::mul_relu.out");
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  EXPECT_THAT(plan_text(plan->methods[0]), HasSubstr("plan_test::mul_relu.out(%0, %1, %2, %2)"));
}

TEST(BackendOpPlan, WithoutAKernelItIsRefusedOutsideOfADelegate) {
  auto plan = plan_of("plan_test.no_kernel.default", "");
  ASSERT_FALSE(plan.has_value());
  EXPECT_THAT(plan.error().str(), HasSubstr("no kernel for plan_test.no_kernel.default"));
  EXPECT_THAT(plan.error().str(), HasSubstr("model.py:4"));
}

}  // namespace
}  // namespace depute
