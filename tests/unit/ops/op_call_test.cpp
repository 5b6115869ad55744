// Calls through their schema, and what is refused before any rule reads them.
#include <gtest/gtest.h>

#include "depute/program/op.h"
#include "depute/program/text.h"

namespace depute {
namespace {

// A program whose one node is `call`, over a few inputs.
Program with_call(const std::string& call) {
  auto program = parse_program(
      "program\nmethod f(%x: f32[2, 3], %i: i64[2], %n: sym_int[s0], %q: sym_float) {\n  %r: f32[2, 3] = " +
      call + "\n  return %r\n}\n");
  EXPECT_TRUE(program.has_value()) << program.error().str();
  return program ? std::move(*program) : Program{};
}

std::string complaint(const std::string& call) {
  Program program = with_call(call);
  auto status = check_call(*program.methods.at(0)->graph->first());
  return status ? "" : status.error().message;
}

TEST(OpCall, FillsDefaultsAndTakesAnySpelling) {
  Program program = with_call("aten.add.Tensor(%x, other=%x)");
  OpCall call(*program.methods[0]->graph->first());
  EXPECT_EQ(call.args().size(), 3u);
  EXPECT_EQ(call.value("other"), call.value("self"));
  EXPECT_EQ(call.integer("alpha"), 1);
}

TEST(OpCall, ASingleIntIsAList) {
  Program program = with_call("aten.max_pool2d.default(%x, 2)");
  OpCall call(*program.methods[0]->graph->first());
  EXPECT_EQ(call.ints("kernel_size"), std::vector<std::int64_t>{2});
  EXPECT_EQ(call.ints("dilation"), (std::vector<std::int64_t>{1, 1}));
}

TEST(CheckCall, AcceptsWhatTorchAccepts) {
  EXPECT_EQ(complaint("aten.add.Tensor(%x, 1)"), "");
  EXPECT_EQ(complaint("aten.add.Tensor(%x, %n)"), "");
  EXPECT_EQ(complaint("aten.expand.default(%x, [%n, 3])"), "");
  EXPECT_EQ(complaint("aten.index.Tensor(%x, [none, %i])"), "");
  EXPECT_EQ(complaint("aten.clamp.default(%x, none, 6)"), "");
  EXPECT_EQ(complaint("aten.pow.Tensor_Scalar(%x, %q)"), "");
}

TEST(CheckCall, RefusesWhatRulesCannotRead) {
  EXPECT_EQ(complaint("aten.relu.default()"), "aten.relu.default: argument 'self' is missing");
  EXPECT_EQ(complaint("aten.relu.default(%x, %x)"),
            "aten.relu.default: got 2 arguments; at most 1 are allowed");
  EXPECT_EQ(complaint("aten.relu.default(3)"), "aten.relu.default: argument 'self' has the wrong kind");
  EXPECT_EQ(complaint("aten.relu.default(%x, self=%x)"), "aten.relu.default: duplicate argument 'self'");
  EXPECT_EQ(complaint("aten.add.Tensor(%x, %x, gamma=2)"), "aten.add.Tensor: unknown argument 'gamma'");
  EXPECT_EQ(complaint("aten.add_.Tensor(3, %x)"), "aten.add_.Tensor: argument 'self' has the wrong kind");
  EXPECT_EQ(complaint("aten.permute.default(%x, [%n, 0])"),
            "aten.permute.default: argument 'dims' has the wrong kind");
  EXPECT_EQ(complaint("aten.cat.default([%x, 1])"),
            "aten.cat.default: argument 'tensors' has the wrong kind");
  EXPECT_EQ(complaint("aten.cat.default([%x, none])"),
            "aten.cat.default: argument 'tensors' has the wrong kind");
  EXPECT_EQ(complaint("aten.sum.dim_IntList(%x, [0], dtype=\"f32\")"),
            "aten.sum.dim_IntList: argument 'dtype' has the wrong kind");
}

}  // namespace
}  // namespace depute
