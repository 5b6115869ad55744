#include "support/number_text.h"

#include <gtest/gtest.h>

namespace depute {
namespace {

TEST(NumberText, CountsWithTheirNoun) {
  EXPECT_EQ(plural(0, "node"), "0 nodes");
  EXPECT_EQ(plural(1, "node"), "1 node");
  EXPECT_EQ(plural(2, "node"), "2 nodes");
}

TEST(NumberText, BytesAreExactWhereTheyAreFew) {
  EXPECT_EQ(bytes_text(9'999), "9999 bytes");
  EXPECT_EQ(bytes_text(10'000), "10.0 KB");
  EXPECT_EQ(bytes_text(41'000'000), "41.0 MB");
}

TEST(NumberText, AmountsHaveALetterAndAUnit) {
  EXPECT_EQ(amount_text(999, "B"), "999 B");
  EXPECT_EQ(amount_text(12'300, ""), "12.3 k");
  EXPECT_EQ(amount_text(4'100'000'000, "B"), "4.1 GB");
  EXPECT_EQ(amount_text(std::nullopt, "B"), "unbounded");
}

TEST(NumberText, Percent) {
  EXPECT_EQ(percent(1, 4), 25.0);
  EXPECT_EQ(percent(0, 0), 0.0);
  EXPECT_EQ(percent(0, 0, 100), 100.0);
}

TEST(NumberText, AListHasItsFirstEntriesOrAll) {
  EXPECT_EQ(shown_of(5, 3), 3U);
  EXPECT_EQ(shown_of(2, 3), 2U);
  EXPECT_EQ(shown_of(5, 0), 5U);
}

}  // namespace
}  // namespace depute
