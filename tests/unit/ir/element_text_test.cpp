// Numbers of all types as text, and small floats against their definition.
#include "ir/text/element_text.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "ir/small_float.h"

namespace depute {
namespace {

constexpr std::array small_floats = {ScalarType::F16,      ScalarType::BF16,       ScalarType::F8E4M3FN,
                                     ScalarType::F8E5M2,   ScalarType::F8E4M3FNUZ, ScalarType::F8E5M2FNUZ,
                                     ScalarType::F8E8M0FNU};

TEST(SmallFloat, EveryPatternEncodesBack) {
  for (ScalarType type : small_floats) {
    int patterns = item_size(type) == 1 ? 256 : 65536;
    for (int bits = 0; bits < patterns; ++bits) {
      double value = decode_small_float(type, static_cast<std::uint16_t>(bits));
      std::uint16_t again = encode_small_float(type, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode_small_float(type, again)));
      } else {
        ASSERT_EQ(again, bits) << name(type) << " " << value;
      }
    }
  }
}

TEST(SmallFloat, RoundsToNearestEven) {
  for (ScalarType type : {ScalarType::F16, ScalarType::BF16, ScalarType::F8E4M3FN, ScalarType::F8E5M2}) {
    for (std::uint16_t bits = 0; bits < 100; ++bits) {
      double low = decode_small_float(type, bits);
      double high = decode_small_float(type, bits + 1);
      double middle = (low + high) / 2;
      EXPECT_EQ(encode_small_float(type, middle), bits % 2 == 0 ? bits : bits + 1)
          << name(type) << " " << middle;
      EXPECT_EQ(encode_small_float(type, std::nextafter(middle, 0)), bits);
      EXPECT_EQ(encode_small_float(type, std::nextafter(middle, 1e9)), bits + 1);
    }
  }
}

TEST(SmallFloat, KnownValues) {
  EXPECT_EQ(encode_small_float(ScalarType::F16, 1.0), 0x3c00);
  EXPECT_EQ(encode_small_float(ScalarType::F16, 65504), 0x7bff);
  EXPECT_EQ(encode_small_float(ScalarType::F16, 65520), 0x7c00);
  EXPECT_EQ(encode_small_float(ScalarType::F16, -HUGE_VAL), 0xfc00);
  EXPECT_EQ(encode_small_float(ScalarType::BF16, 1.0), 0x3f80);
  EXPECT_EQ(encode_small_float(ScalarType::F8E4M3FN, 448), 0x7e);
  EXPECT_EQ(encode_small_float(ScalarType::F8E4M3FN, 1000), 0x7f);
  EXPECT_EQ(encode_small_float(ScalarType::F8E4M3FN, HUGE_VAL), 0x7f);
  EXPECT_EQ(encode_small_float(ScalarType::F8E5M2, 57344), 0x7b);
  EXPECT_EQ(encode_small_float(ScalarType::F8E4M3FNUZ, 240), 0x7f);
  EXPECT_EQ(encode_small_float(ScalarType::F8E4M3FNUZ, -0.0), 0);
  EXPECT_EQ(encode_small_float(ScalarType::F8E4M3FNUZ, std::nan("")), 0x80);
  EXPECT_EQ(decode_small_float(ScalarType::F8E8M0FNU, 128), 2.0);
}

TEST(ElementText, EverySmallFloatReadsBack) {
  for (ScalarType type : small_floats) {
    int patterns = item_size(type) == 1 ? 256 : 65536;
    for (int bits = 0; bits < patterns; bits += item_size(type) == 1 ? 1 : 7) {
      std::string text;
      std::array<std::byte, 2> bytes = {std::byte(bits & 255), std::byte(bits >> 8)};
      if (!append_element(text, type, bytes.data())) continue;
      std::array<std::byte, 2> again = {bytes[0], bytes[1]};
      ASSERT_TRUE(read_number(text, type, again.data())) << text;
      ASSERT_EQ(again, bytes) << name(type) << " " << text;
    }
  }
}

TEST(ElementText, WhatTextCannotSayIsRefused) {
  std::string text;
  std::uint32_t payload = 0x7fc00001;
  EXPECT_FALSE(append_element(text, ScalarType::F32, reinterpret_cast<const std::byte*>(&payload)));
  std::uint8_t two = 2;
  EXPECT_FALSE(append_element(text, ScalarType::Bool, reinterpret_cast<const std::byte*>(&two)));
  std::array<std::byte, 8> bytes;
  EXPECT_FALSE(read_number("300", ScalarType::I8, bytes.data()));
  EXPECT_FALSE(read_number("-1", ScalarType::U8, bytes.data()));
  EXPECT_FALSE(read_number("1.5", ScalarType::I32, bytes.data()));
  EXPECT_FALSE(read_number("nan", ScalarType::I32, bytes.data()));
  EXPECT_FALSE(read_number("1", ScalarType::Bool, bytes.data()));
  EXPECT_FALSE(read_number("", ScalarType::F32, bytes.data()));
  EXPECT_FALSE(read_number("1x", ScalarType::F64, bytes.data()));
}

TEST(ElementText, RandomNumbersStayInTheirRanges) {
  for (int i = 0; i < scalar_type_count; ++i) {
    auto type = static_cast<ScalarType>(i);
    std::vector<std::byte> bytes(1000 * item_size(type));
    fill_random(bytes, type, 1);
    std::vector<std::byte> same(bytes.size());
    fill_random(same, type, 1);
    EXPECT_EQ(bytes, same);
    fill_random(same, type, 2);
    EXPECT_NE(bytes, same);
    if (type != ScalarType::F32) continue;
    for (std::size_t n = 0; n < 1000; ++n) {
      float value = 0;
      std::memcpy(&value, bytes.data() + 4 * n, 4);
      EXPECT_GE(value, -1);
      EXPECT_LE(value, 1);
    }
  }
}

TEST(ReadNumber, RefusesWhatASmallFloatCannotHold) {
  std::array<std::byte, 2> bytes = {};
  const auto is_read = [&](std::string_view text, ScalarType type) {
    return read_number(text, type, bytes.data());
  };
  EXPECT_TRUE(is_read("65504", ScalarType::F16));
  EXPECT_TRUE(is_read("-1e-20", ScalarType::F16)) << "rounded to -0";
  EXPECT_TRUE(is_read("inf", ScalarType::F16));
  EXPECT_TRUE(is_read("nan", ScalarType::BF16));
  EXPECT_FALSE(is_read("65520", ScalarType::F16));
  EXPECT_FALSE(is_read("-1e39", ScalarType::BF16));
  EXPECT_FALSE(is_read("1e6", ScalarType::F8E4M3FN));
  EXPECT_TRUE(is_read("3", ScalarType::F8E8M0FNU)) << "rounded";
  EXPECT_FALSE(is_read("-1", ScalarType::F8E8M0FNU));
}

}  // namespace
}  // namespace depute
