// Linear layers as ExecuTorch's Edge dialect has them: which stay whole, and what is made of the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/compiler/normalize.h"
#include "depute/program/text.h"

namespace depute {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view two_layers = R"(program
dim s0 in [1, 8]
data "b": f32[2] = [1, 2]
data "w": f32[2, 3] = random(1)
method forward(%w: f32[2, 3] = param "w", %b: f32[2] = param "b", %x: f32[s0, 5, 3]) {
  %first: f32[s0, 5, 2] = aten.linear.default(%x, %w, %b)
  %second: f32[s0, 5, 2] = aten.linear.default(%x, %w)
  %y: f32[s0, 5, 2] = aten.sub.Tensor(%first, %second)
  return %y
}
)";

std::string normalized(const NormalizeOptions& options) {
  auto program = parse_program(two_layers);
  EXPECT_TRUE(program) << program.error().str();
  auto result = normalize(std::move(*program), options);
  EXPECT_TRUE(result) << result.error().str();
  return print(*result);
}

TEST(WriteEdgeForms, RowsMeetTheTransposedWeight) {
  const std::string text = normalized({.edge_forms = true, .verify = true});
  EXPECT_THAT(text, HasSubstr("f32[3, 2] = aten.permute.default(%w, [1, 0])"));
  EXPECT_THAT(text, HasSubstr("f32[5*s0, 2] = aten.addmm.default(%b, "));
  EXPECT_THAT(text, HasSubstr("f32[5*s0, 2] = aten.mm.default("));
  EXPECT_THAT(text, Not(HasSubstr("aten.linear.default")));
}

TEST(WriteEdgeForms, WhatIsWantedWholeStays) {
  EXPECT_THAT(normalized({}), Not(HasSubstr("mm.default")));
  auto has_bias = [](const Node& node) { return node.args().size() == 3 && !node.arg(2).is_none(); };
  const OpsToNotDecompose wish{.ops = {Name("aten.linear.default")}, .filter = has_bias};
  const std::string text = normalized({.ops_to_not_decompose = {wish}, .edge_forms = true});
  EXPECT_THAT(text, HasSubstr("%first: f32[s0, 5, 2] = aten.linear.default(%x, %w, %b)"));
  EXPECT_THAT(text, HasSubstr("aten.mm.default("));
}

}  // namespace
}  // namespace depute
