// JSON values with places: errors tell the document, the path and the byte offset.
#include "read/json.h"
#include "support/try.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace depute {
namespace {

using ::testing::HasSubstr;

Result<JsonDocument> parse(std::string_view text, const ReadLimits& limits = {}) {
  return JsonDocument::parse({.bytes = std::as_bytes(std::span(text)), .readable_behind = 0, .inflated = {}},
                             "m.json", limits);
}

TEST(Json, ReadsValues) {
  auto document =
      parse(R"({"i": -3, "f": 0.5, "s": "a\"b", "b": true, "n": null, "l": [1, 2], "inf": "-Infinity"})");
  ASSERT_TRUE(document);
  Json root(*document);
  EXPECT_EQ(root.field("i")->integer(), -3);
  EXPECT_EQ(root.field("i")->number(), -3.0);
  EXPECT_EQ(root.field("f")->number(), 0.5);
  EXPECT_EQ(root.field("s")->string(), "a\"b");
  EXPECT_EQ(root.field("b")->boolean(), true);
  EXPECT_TRUE(root.field("n")->is_null());
  EXPECT_TRUE(root.optional_field("absent")->is_null());
  EXPECT_TRUE(std::isinf(*root.field("inf")->number()));
  std::vector<std::int64_t> numbers;
  Json list = *root.field("l");
  EXPECT_TRUE(list.for_each([&](const Json& element) -> Status {
    numbers.push_back(*element.integer());
    return {};
  }));
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{1, 2}));
}

TEST(Json, ErrorsTellThePlace) {
  std::string_view text = R"({"nodes": [{"name": "x"}, {"name": {"a.b": 7}}]})";
  auto document = parse(text);
  ASSERT_TRUE(document);
  Json root(*document);
  Json nodes = *root.field("nodes");
  Status status = nodes.for_each([](const Json& node) -> Status {
    TRY(Json name, node.field("name"));
    TRY(auto choice, name.choice());
    TRY([[maybe_unused]] auto unused, choice.second.string());
    return {};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().where, "m.json: nodes[0].name (byte 20)");
  EXPECT_EQ(status.error().message, "expected an object");
  EXPECT_EQ(text.substr(20, 3), "\"x\"");
}

TEST(Json, ErrorsTellMissingFields) {
  auto document = parse(R"({"a": {"b.c": {}}})");
  ASSERT_TRUE(document);
  Json root(*document);
  Json a = *root.field("a");
  Json b = *a.field("b.c");
  EXPECT_EQ(b.field("d").error().where, "m.json: a['b.c'] (byte 14)");
  EXPECT_THAT(b.field("d").error().message, HasSubstr("'d' is missing"));
}

TEST(Json, RefusesWhatIsNoJson) {
  EXPECT_THAT(parse(R"({"a": [1, 2})").error().str(), HasSubstr("(byte 11)"));
  EXPECT_THAT(parse("{\"a\": \"\xff\"}").error().str(), HasSubstr("not valid JSON"));
  EXPECT_THAT(parse("").error().str(), HasSubstr("empty"));
}

TEST(Json, RefusesNumbersBeyond64Bits) {
  auto document = parse(R"({"u": 18446744073709551615})");
  ASSERT_TRUE(document);
  Json root(*document);
  EXPECT_FALSE(root.field("u")->integer());
}

TEST(Json, NamesItsLimits) {
  EXPECT_THAT(parse("{\"a\": 12}", {.json_bytes = 5}).error().str(), HasSubstr("limit json_bytes is 5"));
  EXPECT_THAT(parse("[[[[]]]]", {.json_depth = 3}).error().str(), HasSubstr("limit json_depth is 3"));
  auto document = parse("[1, 2, 3]", {.list_elements = 2});
  ASSERT_TRUE(document);
  Status status = Json(*document).for_each([](const Json&) -> Status { return {}; });
  EXPECT_THAT(status.error().str(), HasSubstr("limit list_elements is 2"));
}

// The environment raises the limits of what the user reads, not those of a worker's answers.
TEST(Json, SaysHowToRaiseALimitOnlyIfItCanBeRaised) {
  ReadLimits limits;
  limits.json_depth = 3;
  EXPECT_EQ(parse("[[[[]]]]", limits).error().hint, "");
  limits = read_limits().value();
  limits.json_depth = 3;
  EXPECT_THAT(parse("[[[[]]]]", limits).error().hint, HasSubstr("DEPUTE_LIMITS=json_depth=NUMBER"));
}

}  // namespace
}  // namespace depute
