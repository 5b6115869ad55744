#include <gtest/gtest.h>

#include "backends/tosa/tosa_backend.h"
#include "backends/tosa/write_graph.h"
#include "tests/unit/parse.h"

namespace depute::tosa {
namespace {

// A graph with operators of every kind of attribute that rules make.
std::vector<std::byte> small_graph() {
  const Program program = parse(R"(program
data "w": f32[2, 2, 1, 1] = random(1)
method forward(%w: f32[2, 2, 1, 1] = param "w", %x: f32[1, 2, 3, 3]) {
  %conv: f32[1, 2, 3, 3] = aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) #1
  %relu: f32[1, 2, 3, 3] = aten.relu.default(%conv) #2
  %pool: f32[1, 2, 1, 1] = aten.max_pool2d.default(%relu, [2, 2]) #3
  %up: f32[1, 2, 6, 6] = aten.upsample_bilinear2d.vec(%relu, [6, 6], false, none) #4
  %sum: f32[1, 2, 6, 6] = aten.add.Tensor(%up, %pool) #5
  %soft: f32[1, 2, 6, 6] = aten._softmax.default(%sum, 1, false) #6
  return %soft
}
)");
  return write_graph(must(translate(program)));
}

TEST(DescribeGraph, ReadsBackWhatIsWritten) {
  const std::string text = must(describe_graph(small_graph()));
  for (const char* op : {"CONV2D", "CLAMP", "MAX_POOL2D", "RESIZE", "ADD", "REDUCE_MAX", "TRANSPOSE"})
    EXPECT_NE(text.find(op), std::string::npos) << op << "\n" << text;
}

TEST(DescribeGraph, FailsOnTruncatedBytes) {
  const std::vector<std::byte> bytes = small_graph();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A copy of its own, so that a sanitizer sees what is read behind its end.
    const std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    (void)describe_graph(part);
  }
  EXPECT_FALSE(describe_graph(std::span(bytes).first(bytes.size() / 2)).has_value());
  EXPECT_FALSE(describe_graph({}).has_value());
}

TEST(DescribeGraph, SurvivesEveryChangedByte) {
  const std::vector<std::byte> bytes = small_graph();
  std::size_t failures = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned value : {0x00U, 0x01U, 0x7fU, 0x80U, 0xffU}) {
      std::vector<std::byte> changed = bytes;
      changed[at] = static_cast<std::byte>(value);
      if (!describe_graph(changed)) ++failures;
    }
  }
  EXPECT_GT(failures, 0U);
}

}  // namespace
}  // namespace depute::tosa
