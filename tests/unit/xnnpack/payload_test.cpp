// The payload's bytes: header, flatbuffer as the runtime's verifier sees it, named data.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/xnnpack/payload/write_payload.h"
#include "backends/xnnpack/xnnpack_backend.h"
#include "payload_generated.h"
#include "tests/unit/parse.h"

namespace depute::xnnpack {
namespace {

using ::testing::ElementsAre;

constexpr const char* conv_relu = R"(program
dim s0 in [1, 7]
data "w": f32[8, 3, 3, 3] = random(1)
data "b": f32[8] = random(2)

method forward(%w: f32[8, 3, 3, 3] = param "w", %b: f32[8] = param "b", %n: sym_int[s0], %x: f32[s0, 3, 8, 8]) {
  %conv: f32[s0, 8, 6, 6] = aten.convolution.default(%x, %w, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) #5
  %relu: f32[s0, 8, 6, 6] = aten.relu.default(%conv) #6
  return %relu
}
)";

template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t offset) {
  T number;
  std::memcpy(&number, bytes.data() + offset, sizeof(T));
  return number;
}

TEST(Payload, StartsWithTheHeader) {
  auto result = XnnpackBackend().preprocess(parse(conv_relu), {});
  ASSERT_TRUE(result) << result.error().str();
  auto bytes = result->processed_bytes->bytes();
  EXPECT_EQ(number_at<std::uint32_t>(bytes, 0), 0U);
  EXPECT_EQ(std::memcmp(bytes.data() + 4, "XH00", 4), 0);
  EXPECT_EQ(number_at<std::uint16_t>(bytes, 8), 30);
  EXPECT_EQ(number_at<std::uint32_t>(bytes, 10), 32U);
  EXPECT_LE(32 + number_at<std::uint32_t>(bytes, 14), bytes.size());
  EXPECT_EQ(number_at<std::uint32_t>(bytes, 18), bytes.size());
  EXPECT_EQ(number_at<std::uint64_t>(bytes, 22), 0U);
  EXPECT_EQ(bytes.size() % 16, 0U);
}

TEST(Payload, PassesTheVerifierAndDescribesTheGraph) {
  auto result = XnnpackBackend().preprocess(parse(conv_relu), {});
  ASSERT_TRUE(result) << result.error().str();
  auto bytes = result->processed_bytes->bytes();
  const auto* start = reinterpret_cast<const std::uint8_t*>(bytes.data()) + 32;
  flatbuffers::Verifier verifier(start, number_at<std::uint32_t>(bytes, 14));
  ASSERT_TRUE(wire::VerifyGraphBuffer(verifier));
  const wire::Graph* graph = wire::GetGraph(start);
  EXPECT_EQ(graph->external_count(), 3U);  // a size that nothing reads, the image, the result
  ASSERT_EQ(graph->nodes()->size(), 3U);
  EXPECT_EQ(graph->nodes()->Get(0)->node_type(), wire::NodeUnion::Transpose);
  const wire::Node* conv = graph->nodes()->Get(1);
  ASSERT_EQ(conv->node_type(), wire::NodeUnion::Conv2d);
  EXPECT_EQ(conv->output_range()->min(), 0);
  EXPECT_EQ(conv->output_range()->max(), std::numeric_limits<float>::infinity());
  std::vector<std::uint32_t> externals;
  for (const wire::Value* value : *graph->values()) {
    const wire::Tensor* tensor = value->value_as_Tensor();
    if (tensor->external_id() == no_value) continue;
    externals.push_back(tensor->external_id());
    EXPECT_EQ(tensor->dims()->Get(0), 7U);  // the upper bound
  }
  EXPECT_THAT(externals, ElementsAre(1, 2));
}

TEST(Payload, ConstantsAreNamedData) {
  auto result = XnnpackBackend().preprocess(parse(conv_relu), {});
  ASSERT_TRUE(result) << result.error().str();
  ASSERT_EQ(result->data_store_output.size(), 2U);
  EXPECT_EQ(result->data_store_output[0].key, "xnn:w:8x3x3x3:0231");
  EXPECT_EQ(result->data_store_output[0].storage->size(), 8U * 27 * 4);
  EXPECT_EQ(result->data_store_output[1].key, "xnn:b");
  EXPECT_EQ(result->data_store_output[1].alignment, 16U);
}

TEST(Payload, MapsNodesToDebugHandles) {
  auto result = XnnpackBackend().preprocess(parse(conv_relu), {});
  ASSERT_TRUE(result) << result.error().str();
  ASSERT_EQ(result->debug_handle_map.size(), 3U);
  EXPECT_EQ(result->debug_handle_map[0].first, DelegateDebugId("Transpose #1"));
  EXPECT_EQ(result->debug_handle_map[1].first, DelegateDebugId("Convolution #1"));
  EXPECT_EQ(result->debug_handle_map[2].first, DelegateDebugId("Transpose #2"));
  EXPECT_THAT(result->debug_handle_map[1].second, ElementsAre(5, 6));
}

TEST(Payload, IsTheSameEachTime) {
  auto a = XnnpackBackend().preprocess(parse(conv_relu), {});
  auto b = XnnpackBackend().preprocess(parse(conv_relu), {});
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(std::ranges::equal(a->processed_bytes->bytes(), b->processed_bytes->bytes()));
}

TEST(Payload, RefusesCompileSpecs) {
  const std::vector<CompileSpec> specs = {{"key", {}}};
  auto result = XnnpackBackend().preprocess(parse(conv_relu), specs);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "unknown compile spec 'key'");
  const std::vector<CompileSpec> weights = {{"weights", bytes("f8")}};
  auto other = XnnpackBackend().preprocess(parse(conv_relu), weights);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "compile spec 'weights' must be f16 or f32");
}

TEST(UpperBound, NeedsAFiniteBound) {
  const Ranges ranges = {{"s0", {2, 9}}, {"s1", {2, Range::max_bound}}};
  EXPECT_EQ(upper_bound(SymInt::symbol("s0") * 2, ranges), 18U);
  EXPECT_EQ(upper_bound(SymInt::symbol("s1"), ranges), std::nullopt);
  EXPECT_EQ(upper_bound(SymInt::symbol("s2"), ranges), std::nullopt);
  EXPECT_EQ(upper_bound(SymInt(std::int64_t{1} << 32), ranges), std::nullopt);
}

}  // namespace
}  // namespace depute::xnnpack
