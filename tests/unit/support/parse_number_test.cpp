// Numbers from text, by the standard library or by fast_float: the same answers.
#include "platform/parse_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace depute {
namespace {

TEST(ParseNumber, ReadsTheWholeText) {
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  EXPECT_EQ(parse_number<double>("-2e-3"), -0.002);
  EXPECT_EQ(parse_number<double>("1.7976931348623157e308"), 1.7976931348623157e308);
  EXPECT_EQ(parse_number<float>("16777217"), 16777216.0F);
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), 18446744073709551615ULL);
}

TEST(ParseNumber, RefusesOtherText) {
  for (const char* text : {"", " 1", "1 ", "1x", "+1", "0x10", "--1", "e5", ".", "1,5"}) {
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_number<int>("1.5"), std::nullopt);
}

TEST(ParseNumber, RefusesNumbersThatDoNotFit) {
  for (const std::string& text :
       {std::string("1e309"), std::string("-1e999"), std::string(400, '9'), std::string(400, '9') + "."})
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
  EXPECT_EQ(parse_number<float>("1e39"), std::nullopt);
  EXPECT_EQ(parse_number<std::int8_t>("128"), std::nullopt);
  EXPECT_EQ(parse_number<std::uint32_t>("-1"), std::nullopt);
}

TEST(ParseNumber, ReadsTheWordsOfFloats) {
  EXPECT_EQ(parse_number<double>("-inf"), -INFINITY);
  EXPECT_EQ(parse_number<double>("infinity"), INFINITY);
  const auto nan = parse_number<double>("nan");
  EXPECT_TRUE(nan && std::isnan(*nan));
}

TEST(ReadFloat, StopsAtOtherText) {
  const std::string text = "-1.25e2)";
  double number = 0;
  const auto [end, error] = platform::read_float(text.data(), text.data() + text.size(), number);
  EXPECT_EQ(error, std::errc());
  EXPECT_EQ(number, -125);
  EXPECT_EQ(*end, ')');
}

}  // namespace
}  // namespace depute
