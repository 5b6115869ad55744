// Which file a name belongs to.
#include "plan/data_file.h"

#include <gtest/gtest.h>

#include <vector>

namespace depute {
namespace {

bool matches(const char* pattern, const char* name) {
  const std::vector<DataFile> files = {{.path = "a.ptd", .pattern = pattern}};
  return find_file(files, name).has_value();
}

TEST(DataFile, AStarStandsForAnyText) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*", "layers.0.weight"));
  EXPECT_TRUE(matches("layers.*", "layers.0.weight"));
  EXPECT_TRUE(matches("*lora*", "layers.0.lora_a"));
  EXPECT_TRUE(matches("*.weight", "a.weight.weight"));
  EXPECT_TRUE(matches("a*b*c", "aXbYbZc"));
  EXPECT_TRUE(matches("a*b*c", "abc"));
  EXPECT_TRUE(matches("weight", "weight"));
  EXPECT_FALSE(matches("layers.*", "my.layers.0"));
  EXPECT_FALSE(matches("*.weight", "a.weights"));
  EXPECT_FALSE(matches("a*b*c", "aXcYb"));
  EXPECT_FALSE(matches("weight", "weights"));
  EXPECT_FALSE(matches("weights", "weight"));
}

TEST(DataFile, OneNameOfSeveralIsEnough) {
  EXPECT_TRUE(matches("up.*", "xnn:up.weight"));
  EXPECT_TRUE(matches("v.weight", "xnn:cat(k.weight,v.weight)"));
  EXPECT_TRUE(matches("v.weight", "decode::v.weight"));
  EXPECT_TRUE(matches("decode::*", "decode::v.weight"));
  EXPECT_FALSE(matches("cat", "xnn:cat(k.weight,v.weight)"));
  EXPECT_FALSE(matches("xnn", "xnn:up.weight"));
  EXPECT_FALSE(matches("weight", "xnn:cat(k.weight,v.weight)"));
}

TEST(DataFile, TheFirstThatMatchesCounts) {
  const std::vector<DataFile> files = {{"a.ptd", "*lora*"}, {"b.ptd", "x.*"}, {"c.ptd"}};
  EXPECT_EQ(find_file(files, "x.lora"), 0U);
  EXPECT_EQ(find_file(files, "x.y"), 1U);
  EXPECT_EQ(find_file(files, "y"), 2U);
  EXPECT_EQ(file_of_rest(files)->path, "c.ptd");
  EXPECT_EQ(file_of_rest(std::span(files).first(2)), nullptr);
  EXPECT_EQ(find_file(std::span(files).first(2), "y"), std::nullopt);
}

}  // namespace
}  // namespace depute
