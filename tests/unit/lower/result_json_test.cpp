// Debug maps of delegates as JSON: what ranges may stand for.
#include "lower/result_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/program/text.h"

namespace depute {
namespace {

using ::testing::HasSubstr;

const Program& partition() {
  static const Program program = *parse_program(
      "program\nmethod forward(%x: f32[2]) {\n  %y: f32[2] = aten.sin.default(%x) #1\n  return %y\n}\n");
  return program;
}

PreprocessResult with_map(DebugHandleMap map) {
  PreprocessResult result{.processed_bytes = storage_of("payload")};
  result.debug_handle_map = std::move(map);
  return result;
}

Result<JsonValue> written(const PreprocessResult& result) {
  return json_of_result(result, partition(),
                        [](const Storage&) -> Result<StoredBytes> { return StoredBytes{.text = "payload"}; });
}

Result<PreprocessResult> read(const JsonValue& json) {
  const std::string text = json.dump();
  const auto bytes = std::as_bytes(std::span(text));
  auto document = JsonDocument::parse({.bytes = bytes}, "", ReadLimits());
  if (!document) return Failure(document.error());
  return result_of_json(Json(*document), partition(),
                        [](const StoredBytes& place) -> Result<std::shared_ptr<const Storage>> {
                          return storage_of(place.text.value_or(""));
                        });
}

void expect_same_again(const DebugHandleMap& map) {
  const auto json = written(with_map(map));
  ASSERT_TRUE(json) << json.error().str();
  const auto result = read(*json);
  ASSERT_TRUE(result) << result.error().str();
  EXPECT_EQ(result->debug_handle_map, map);
}

// More than ranges may stand for: the rest is written one by one.
TEST(ResultJson, KeepsMapsOfAnySize) {
  DebugHandleMap ids;
  std::vector<std::uint32_t> handles;
  for (std::uint32_t i = 1; i <= 10'000; ++i) {
    ids.emplace_back(std::int64_t{i} - 1, std::vector{i});
    handles.push_back(i);
  }
  expect_same_again(ids);
  expect_same_again({{"all", handles}, {"again", handles}});
  expect_same_again({{std::int64_t{7}, handles}, {std::int64_t{8}, {1}}, {std::int64_t{9}, {2}}});
}

TEST(ResultJson, ShortTextStandsForFewNumbers) {
  const std::int64_t most = 4096 + 16;  // of a partition with one handle
  const auto read_row = [](JsonValue row) {
    return read({{"payload", {{"text", "p"}}}, {"map", JsonValue::array({std::move(row)})}});
  };
  EXPECT_TRUE(read_row(JsonValue::array({0, most, 1})));
  EXPECT_THAT(read_row(JsonValue::array({0, most + 1, 1})).error().str(),
              HasSubstr("ranges stand for 1 more numbers than"));
  EXPECT_TRUE(read_row(JsonValue::array({"all", JsonValue::array({JsonValue::array({1, most + 1})})})));
  EXPECT_THAT(
      read_row(JsonValue::array({"all", JsonValue::array({JsonValue::array({1, most + 2})})})).error().str(),
      HasSubstr("ranges stand for 1 more numbers than"));
}

TEST(ResultJson, RangesOfAMapAreLimitedTogether) {
  const JsonValue rows =
      JsonValue::array({JsonValue::array({0, 4000, 1}), JsonValue::array({5000, 9000, 1})});
  const auto result = read({{"payload", {{"text", "p"}}}, {"map", rows}});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().str(), HasSubstr("ranges stand for 3888 more numbers than"));
}

}  // namespace
}  // namespace depute
