// What golden tests of fold-constants do not show: which storages are shared, and what is computed when.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "depute/program/text.h"
#include "normalize/passes.h"
#include "tests/unit/parse.h"

namespace depute {
namespace {

Program folded(std::string_view text) {
  Program program = parse(text);
  EXPECT_TRUE(fold_constants(program, {}));
  return program;
}

const TensorData& data(const Program& program, std::string_view key) {
  const TensorData* found = program.find_data(Name(key));
  EXPECT_NE(found, nullptr) << print(program);
  return *found;
}

TEST(FoldConstants, ViewsShareTheStorageOfTheWeight) {
  Program program = folded(R"(
program
data "w": f32[4, 6] = random(1)
method forward(%w: f32[4, 6] = param "w", %x: f32[4]) {
  %p: f32[6, 4] = aten.permute.default(%w, [1, 0])
  %s: f32[2, 4] = aten.slice.Tensor(%p, 0, 1, 3)
  %y: f32[2, 4] = aten.add.Tensor(%s, %x)
  return %y
}
)");
  EXPECT_EQ(data(program, "s").storage, data(program, "w").storage);
  EXPECT_EQ(data(program, "s").offset, 1);
  EXPECT_EQ(data(program, "s").type.strides, (Dims{1, 6}));
}

TEST(FoldConstants, LargeResultsAreComputedLater) {
  Program program = folded(R"(
program
data "w": f32[1000, 1000] = random(1)
method forward(%w: f32[1000, 1000] = param "w", %x: f32[1000, 1000]) {
  %half: f16[1000, 1000] = aten._to_copy.default(%w, dtype=.f16)
  %sum: f32[] = aten.sum.dim_IntList(%w, [])
  %y: f32[1000, 1000] = aten.mul.Tensor(%x, %sum)
  return %y, %half
}
)");
  EXPECT_TRUE(data(program, "half").storage->is_lazy());
  EXPECT_TRUE(data(program, "sum").storage->is_lazy());
  EXPECT_EQ(data(program, "half").storage->bytes().size(), 2'000'000U);
}

TEST(FoldConstants, ResultsThatAreMuchLargerThanTheirOperandsStayNodes) {
  Program program = folded(R"(
program
method forward(%x: f32[4096, 4096]) {
  %full: f32[4096, 4096] = aten.full.default([4096, 4096], 1.0)
  %y: f32[4096, 4096] = aten.add.Tensor(%x, %full)
  return %y
}
)");
  EXPECT_EQ(program.find_method("forward")->graph->node_count(), 2U);
}

TEST(FoldConstants, ALongChainOfLargeConstantsIsComputed) {
  constexpr int length = 10'000;
  std::string text =
      "program\ndata \"w\": f32[8400] = zeros\nmethod forward(%w: f32[8400] = param \"w\", %x: f32[8400]) "
      "{\n";
  for (int i = 0; i < length; ++i) {
    text += fmt::format("  %a{}: f32[8400] = aten.neg.default(%{})\n", i,
                        i == 0 ? "w" : fmt::format("a{}", i - 1));
  }
  text += fmt::format("  %y: f32[8400] = aten.add.Tensor(%x, %a{})\n  return %y\n}}\n", length - 1);
  Program program = folded(text);
  EXPECT_EQ(program.find_method("forward")->graph->node_count(), 1U);
  EXPECT_EQ(data(program, fmt::format("a{}", length - 1)).storage->bytes().size(), 33'600U);
}

TEST(FoldConstants, BuffersThatSomeMethodStoresToAreNoConstants) {
  Program program = folded(R"(
program
data "b": f32[2] = [1, 2]
method write(%b: f32[2] = buffer "b", %x: f32[2]) {
  store buffer "b" = %x
  return
}
method read(%b: f32[2] = buffer "b") {
  %y: f32[2] = aten.neg.default(%b)
  return %y
}
)");
  EXPECT_EQ(program.find_method("read")->graph->node_count(), 1U);
}

}  // namespace
}  // namespace depute
