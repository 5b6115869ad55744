// What the bytes of a payload are for, of one with constants behind its flatbuffer.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/xnnpack/graph.h"
#include "backends/xnnpack/payload/describe_payload.h"
#include "backends/xnnpack/payload/payload_header.h"
#include "payload_generated.h"

namespace depute::xnnpack {
namespace {

struct Row {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  const char* key = nullptr;
};

// A value of f32[2, 3] for the first row; `constant_bytes` of constants.
std::vector<std::byte> payload_with(const std::vector<Row>& rows, std::uint64_t constant_bytes) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::Constant>> constants = {wire::CreateConstant(builder)};
  for (const Row& row : rows)
    constants.push_back(wire::CreateConstantDirect(builder, row.offset, row.size, row.key));
  const std::vector<std::uint32_t> dims = {2, 3};
  const auto tensor =
      wire::CreateTensorDirect(builder, wire::DataType::F32, 2, &dims, 1, no_value, 0, 0).Union();
  const std::vector<flatbuffers::Offset<wire::Value>> values = {
      wire::CreateValue(builder, wire::ValueUnion::Tensor, tensor)};
  const std::vector<flatbuffers::Offset<wire::Node>> nodes;
  wire::FinishGraphBuffer(
      builder, wire::CreateGraphDirect(builder, "0", &nodes, &values, 0, nullptr, nullptr, &constants));
  const std::uint32_t size = builder.GetSize();
  const std::uint32_t start = flatbuffer_offset;
  const std::uint32_t end = (start + size + 15) / 16 * 16;
  std::vector<std::byte> bytes(end + constant_bytes);
  std::memcpy(bytes.data() + magic_position, magic.data(), magic.size());
  std::memcpy(bytes.data() + offset_position, &start, sizeof start);
  std::memcpy(bytes.data() + size_position, &size, sizeof size);
  std::memcpy(bytes.data() + constants_position, &end, sizeof end);
  std::memcpy(bytes.data() + constants_size_position, &constant_bytes, sizeof constant_bytes);
  std::memcpy(bytes.data() + start, builder.GetBufferPointer(), size);
  return bytes;
}

TEST(PayloadLayout, TellsOfHeaderTablesConstantsAndKeys) {
  const auto bytes = payload_with({{0, 24}, {~std::uint64_t{0}, 8, "key"}, {32, 16}}, 48);
  auto layout = payload_layout(bytes);
  ASSERT_TRUE(layout) << layout.error().str();
  ASSERT_EQ(layout->parts.size(), 4);
  const auto expect_part = [&](std::size_t i, std::uint64_t offset, std::uint64_t size,
                               PayloadPart::Kind kind, const char* name) {
    const PayloadPart& part = layout->parts[i];
    EXPECT_EQ(part.offset, offset);
    EXPECT_EQ(part.bytes, size);
    EXPECT_EQ(part.kind, kind);
    EXPECT_EQ(part.name, name);
  };
  std::uint32_t tables = 0;
  std::memcpy(&tables, bytes.data() + size_position, sizeof tables);
  expect_part(0, 0, 30, PayloadPart::Kind::Header, "");
  expect_part(1, 32, tables, PayloadPart::Kind::Tables, "");
  expect_part(2, bytes.size() - 48, 24, PayloadPart::Kind::Constant, "constant 1, f32[2, 3]");
  expect_part(3, bytes.size() - 16, 16, PayloadPart::Kind::Constant, "constant 3");
  EXPECT_EQ(layout->data_keys, std::vector<std::string>{"key"});
}

TEST(PayloadLayout, ConstantsMustLieInThePayload) {
  for (const Row& row : {Row{0, 49}, Row{49, 0}, Row{40, 9}, Row{8, ~std::uint64_t{0}}}) {
    auto layout = payload_layout(payload_with({row}, 48));
    ASSERT_FALSE(layout);
    EXPECT_TRUE(layout.error().str().starts_with("[xnnpack] constants[1]: ")) << layout.error().str();
  }
  EXPECT_TRUE(payload_layout(payload_with({{48, 0}, {0, 48}}, 48)));
}

TEST(PayloadLayout, OtherBytesAreRefused) {
  EXPECT_FALSE(payload_layout(std::vector<std::byte>(64)));
  EXPECT_FALSE(payload_layout({}));
}

}  // namespace
}  // namespace depute::xnnpack
