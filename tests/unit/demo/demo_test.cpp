// The demo backend against the original: the model of its example, two convolutions with relus and a tangent,
// gives the blob and the delegate map that ExecuTorch's BackendWithDelegateMappingDemo gives.
#include "backends/demo/demo_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "depute/compiler/to_backend.h"
#include "depute/program/inspect.h"
#include "depute/program/text.h"
#include "plan/plan.h"
#include "write/write_pte.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr std::string_view conv_relu_tan = R"(program
data "b1": f32[16] = zeros
data "b2": f32[32] = zeros
data "w1": f32[16, 3, 3, 3] = zeros
data "w2": f32[32, 16, 3, 3] = zeros

method forward(%w1: f32[16, 3, 3, 3] = param "w1", %b1: f32[16] = param "b1", %w2: f32[32, 16, 3, 3] = param "w2", %b2: f32[32] = param "b2", %x: f32[4, 3, 64, 64]) {
  %0: f32[4, 16, 64, 64] = aten.convolution.default(%x, %w1, %b1, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) #1
  %1: f32[4, 16, 64, 64] = aten.relu.default(%0) #2
  %2: f32[4, 32, 64, 64] = aten.convolution.default(%1, %w2, %b2, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) #3
  %3: f32[4, 32, 64, 64] = aten.relu.default(%2) #4
  %4: f32[4, 32, 64, 64] = aten.tan.default(%3) #5
  return %4
}
)";

constexpr std::string_view blob =
    "5#conv_relu_op,0,conv_relu_op,1,sin_decomp_from_tan,2,cos_decomp_from_tan,3,div_decomp_from_tan,4,";

void expect_original(const Delegate& delegate) {
  auto bytes = delegate.processed_bytes->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_THAT(std::string(text), StartsWith(std::string(blob) + "#"));
  EXPECT_THAT(std::string(text),
              EndsWith(",2,2,3 4,#5,"));  // operands of the tangent's instructions, and the result
  EXPECT_EQ(delegate.named_data.size(), 4U);
  auto id = [](std::int64_t number) { return DelegateDebugId(number); };
  EXPECT_THAT(
      delegate.debug_handle_map,
      ElementsAre(Pair(id(0), ElementsAre(1, 2)), Pair(id(1), ElementsAre(3, 4)), Pair(id(2), ElementsAre(5)),
                  Pair(id(3), ElementsAre(5)), Pair(id(4), ElementsAre(5))));
}

Program model() {
  auto program = parse_program(conv_relu_tan);
  EXPECT_TRUE(program.has_value()) << program.error().str();
  return std::move(*program);
}

TEST(Demo, WholeProgramGivesTheOriginalsBlobAndMap) {
  auto delegate = to_backend("BackendWithDelegateMappingDemo", model(), {}, make_registry());
  ASSERT_TRUE(delegate.has_value()) << delegate.error().str();
  expect_original(*delegate);
}

TEST(Demo, PartitionerGivesTheSame) {
  Registry registry = make_registry();
  auto lowered = to_backend(model(), demo::DemoPartitioner(), registry);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  ASSERT_EQ(lowered->program.delegates.size(), 1u);
  expect_original(*lowered->program.delegates[0]);
  EXPECT_EQ(get_delegation_info(lowered->program).non_delegated_nodes, 0u);
}

TEST(Demo, DelegateStandingAloneIsWrittenAsOneCall) {
  auto delegate = to_backend("BackendWithDelegateMappingDemo", model(), {}, make_registry());
  ASSERT_TRUE(delegate.has_value()) << delegate.error().str();
  Program alone = as_program(*delegate).value();
  auto plan = make_plan(alone);
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  ASSERT_EQ(plan->methods[0].instructions.size(), 1u);
  EXPECT_EQ(plan->methods[0].instructions[0].kind, Instruction::Kind::DelegateCall);
  std::string path = ::testing::TempDir() + "alone.pte";
  auto written = write_pte(alone, *plan, path);
  ASSERT_TRUE(written.has_value()) << written.error().str();
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(bytes, HasSubstr(std::string(blob)));
}

TEST(Demo, ReluWithoutAConvolutionIsRefusedNotDropped) {
  auto program = parse_program(
      "program\nmethod forward(%x: f32[2]) {\n  %0: f32[2] = aten.relu.default(%x) #1\n  return %0\n}\n");
  ASSERT_TRUE(program.has_value());
  auto delegate = to_backend("BackendWithDelegateMappingDemo", *program, {}, make_registry());
  ASSERT_FALSE(delegate.has_value());
  EXPECT_THAT(delegate.error().message, HasSubstr("aten.relu.default is not supported"));
}

}  // namespace
}  // namespace depute
