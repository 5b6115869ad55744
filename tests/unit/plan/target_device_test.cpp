// Where a delegate's arguments lie: on the CPU, or the plan is refused.
#include "plan/target_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/program/text.h"
#include "plan/plan.h"
#include "tests/unit/refusal_log.h"

namespace depute {
namespace {

using ::testing::HasSubstr;

Result<Plan> plan_for(const std::string& specs) {
  auto program = parse_program("program\ndelegate d0 backend \"B\" {\n" + specs +
                               "  blob \"x\"\n}\nmethod forward(%x: f32[2]) {\n"
                               "  %a: f32[2] = delegate.call(@d0, %x)\n  return %a\n}\n");
  EXPECT_TRUE(program.has_value()) << program.error().str();
  return make_plan(*program);
}

std::string spec(const std::string& device) {
  return "  spec \"target_device\" = \"" + device + "\"\n";
}

TEST(TargetDevice, TheCpuIsWhereValuesLie) {
  for (const char* device : {"cpu", "CPU", " cpu:0 "}) {
    auto plan = plan_for(spec(device));
    ASSERT_TRUE(plan.has_value()) << plan.error().str();
    EXPECT_EQ(plan->methods[0].delegates[0].compile_specs.size(), 1);  // the backend gets it as it is
  }
  EXPECT_TRUE(plan_for("  spec \"device\" = \"cuda\"\n").has_value());
}

TEST(TargetDevice, OthersAreRefusedWithTheReason) {
  for (const char* device : {"cuda", "cuda:1", "Cuda:0"}) {
    auto plan = plan_for(spec(device));
    ASSERT_TRUE(is_refused(plan)) << device;
    EXPECT_EQ(plan.error().code, "plan");
    EXPECT_THAT(plan.error().str(), HasSubstr("delegate d0, backend B"));
    EXPECT_THAT(plan.error().message, HasSubstr("only CPU memory is supported"));
  }
}

TEST(TargetDevice, WhatIsNoDeviceIsRefused) {
  for (const char* device : {"", "npu", "cuda:", "cuda:x", "cpu:-1", "cuda:99999999999999999999"}) {
    auto plan = plan_for(spec(device));
    ASSERT_TRUE(is_refused(plan)) << device;
    EXPECT_THAT(plan.error().message, HasSubstr("expected a device")) << device;
  }
}

TEST(TargetDevice, TheFirstSpecOfTheKeyCounts) {
  EXPECT_TRUE(plan_for(spec("cpu") + spec("cuda")).has_value());
  EXPECT_TRUE(is_refused(plan_for(spec("cuda") + spec("cpu"))));
}

}  // namespace
}  // namespace depute
