// Zip archives: every way to write a sound one is read, every damage is refused with its cause.
#include "read/pt2/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zip_writer.h"

namespace depute {
namespace {

using ::testing::HasSubstr;

const std::string long_text(5000, 'x');

class ArchiveTest : public ::testing::Test {
 protected:
  Result<Archive> open(const std::string& bytes) {
    bytes_ = bytes;
    budget_ = ReadBudget(limits_);
    return Archive::open({.bytes = std::as_bytes(std::span(bytes_))}, "test.zip", limits_, budget_);
  }
  std::string message(const std::string& bytes) {
    auto archive = open(bytes);
    return archive ? "no error" : archive.error().str();
  }
  static std::string text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // The content of entry `name` or the error that stands in its way.
  std::string content(const std::string& bytes, std::string_view name) {
    auto archive = open(bytes);
    if (!archive) return archive.error().str();
    const ArchiveEntry* entry = archive->find(name);
    if (entry == nullptr) return "no such entry";
    auto read = archive->read(*entry);
    if (!read) return read.error().str();
    auto storage = archive->storage(*entry);
    if (!storage) return storage.error().str();
    EXPECT_EQ(text((*storage)->bytes()), text(read->bytes));
    return text(read->bytes);
  }

  ReadLimits limits_;
  ReadBudget budget_{limits_};
  std::string bytes_;
};

std::string replaced(std::string bytes, std::size_t at, std::string_view by) {
  return bytes.replace(at, by.size(), by);
}

TEST_F(ArchiveTest, ReadsStoredAndDeflatedEntries) {
  std::string zip =
      make_zip({{.name = "a", .content = "one"}, {.name = "b/c", .content = long_text, .deflate = true}});
  EXPECT_EQ(content(zip, "a"), "one");
  EXPECT_EQ(content(zip, "b/c"), long_text);
}

TEST_F(ArchiveTest, ReadsDescriptorsZip64PaddingAndComments) {
  std::string zip =
      make_zip({{.name = "p/descriptor", .content = "one", .descriptor = true, .extra = 37},
                {.name = "p/zip64", .content = "two", .zip64 = true},
                {.name = "p/both", .content = long_text, .deflate = true, .descriptor = true, .zip64 = true},
                {.name = "p/empty", .content = "", .deflate = true},
                {.name = "p/", .content = ""}},
               {.comment = "a comment PK\5\6 with a signature", .zip64_end = true});
  EXPECT_EQ(content(zip, "p/descriptor"), "one");
  EXPECT_EQ(content(zip, "p/zip64"), "two");
  EXPECT_EQ(content(zip, "p/both"), long_text);
  EXPECT_EQ(content(zip, "p/empty"), "");
}

TEST_F(ArchiveTest, ReadsArchivesInsideArchives) {
  std::string inner = make_zip({{.name = "x", .content = "deep"}});
  std::string zip = make_zip(
      {{.name = "stored", .content = inner}, {.name = "deflated", .content = inner, .deflate = true}});
  auto archive = open(zip);
  ASSERT_TRUE(archive);
  for (const char* name : {"stored", "deflated"}) {
    auto nested = archive->nested(*archive->find(name));
    ASSERT_TRUE(nested) << nested.error().str();
    auto storage = nested->storage(*nested->find("x"));
    ASSERT_TRUE(storage);
    EXPECT_EQ(text((*storage)->bytes()), "deep");
  }
}

TEST_F(ArchiveTest, FindsThePrefixOfAMarkerEntry) {
  auto archive = open(make_zip(
      {{.name = "m/extra/archive_format"}, {.name = "m/archive_format"}, {.name = "xarchive_format"}}));
  ASSERT_TRUE(archive);
  EXPECT_EQ(archive->prefix_of("archive_format"), "m/");
  EXPECT_EQ(archive->prefix_of("xarchive_format"), "");
  EXPECT_EQ(archive->prefix_of("data.pkl"), std::nullopt);
}

TEST_F(ArchiveTest, VerifiesRecordedChecksums) {
  EXPECT_THAT(content(make_zip({{.name = "a", .content = "one", .crc = 1}}), "a"), HasSubstr("checksum"));
  EXPECT_THAT(content(make_zip({{.name = "a", .content = long_text, .deflate = true, .crc = 1}}), "a"),
              HasSubstr("checksum"));
  EXPECT_EQ(content(make_zip({{.name = "a", .content = "one", .crc = 0}}), "a"), "one");
}

TEST_F(ArchiveTest, RefusesWhatIsNoArchive) {
  EXPECT_THAT(message(""), HasSubstr("no zip directory"));
  EXPECT_THAT(message(long_text), HasSubstr("no zip directory"));
  std::string zip = make_zip({{.name = "a", .content = "one"}});
  for (std::size_t size = 0; size < zip.size(); ++size) EXPECT_FALSE(open(zip.substr(0, size))) << size;
  EXPECT_THAT(message(zip + "x"), HasSubstr("no zip directory"));
}

TEST_F(ArchiveTest, RefusesDamagedDirectories) {
  std::string zip = make_zip({{.name = "a", .content = "one"}});
  std::size_t end = zip.size() - 22;
  std::size_t central = zip.rfind("PK\1\2");
  EXPECT_THAT(message(replaced(zip, end + 16, "\xff\xff")), HasSubstr("outside of the file"));
  EXPECT_THAT(message(replaced(zip, end + 4, "\1")), HasSubstr("several disks"));
  EXPECT_THAT(message(replaced(zip, end + 8, "\2")), HasSubstr("several disks"));
  EXPECT_THAT(message(replaced(zip, end + 8, std::string_view("\2\0\2\0", 4))),
              HasSubstr("too short for its entries"));
  EXPECT_THAT(message(replaced(zip, central, "XX")), HasSubstr("no directory header"));
  EXPECT_THAT(message(replaced(zip, central + 28, "\xff")), HasSubstr("truncated"));
  EXPECT_THAT(message(replaced(zip, central + 34, "\1")), HasSubstr("another disk"));
  EXPECT_THAT(message(replaced(zip, central + 24, "\x09")), HasSubstr("two sizes differ"));
  EXPECT_THAT(message(replaced(zip, central + 42, "\xff\xff\xff\xff")), HasSubstr("zip64"));
  EXPECT_THAT(content(replaced(zip, 0, "XX"), "a"), HasSubstr("does not start with a zip header"));
  EXPECT_THAT(content(replaced(zip, 28, "\x09"), "a"), HasSubstr("overlaps"));
}

TEST_F(ArchiveTest, RefusesDamagedZip64Records) {
  std::string zip = make_zip({{.name = "a", .content = "one"}}, {.zip64_end = true});
  std::size_t locator = zip.rfind("PK\6\7");
  std::size_t record = zip.rfind("PK\6\6");
  EXPECT_THAT(message(replaced(zip, locator + 8, "\xff")),
              HasSubstr("zip64 locator does not point to an end record"));
  EXPECT_THAT(message(replaced(zip, locator + 8, "\xff\xff\xff\xff\xff\xff\xff\xff")),
              HasSubstr("zip64 locator does not point to an end record"));
  EXPECT_THAT(message(replaced(zip, locator + 16, "\7")), HasSubstr("several disks"));
  EXPECT_THAT(message(replaced(zip, record + 32, "\7")), HasSubstr("several disks"));
  EXPECT_THAT(message(replaced(zip, record + 48, "\xff\xff\xff\xff\xff\xff\xff\xff")),
              HasSubstr("outside of the file"));
}

TEST_F(ArchiveTest, RefusesOverlapsDuplicatesAndEncryption) {
  EXPECT_THAT(message(make_zip({{.name = "a", .content = "1"}, {.name = "a", .content = "2"}})),
              HasSubstr("there twice"));
  EXPECT_THAT(message(make_zip({{.name = "a", .content = "1", .flags = 1}})), HasSubstr("encrypted"));
  std::string two = make_zip({{.name = "a", .content = "1"}, {.name = "b", .content = "2"}});
  std::size_t second = two.rfind("PK\1\2");
  EXPECT_THAT(message(replaced(two, second + 42, std::string_view("\0\0", 2))), HasSubstr("overlaps"));
  EXPECT_THAT(message(replaced(two, second + 42, "\7")), HasSubstr("overlaps"));
  std::string renamed = make_zip({{.name = "a", .content = "1", .local_name = "b"}});
  EXPECT_THAT(content(renamed, "a"), HasSubstr("another name"));
}

TEST_F(ArchiveTest, RefusesDamagedDeflatedData) {
  std::string zip = make_zip({{.name = "a", .content = long_text, .deflate = true}});
  EXPECT_THAT(content(replaced(zip, 31, "\xff\xff\xff"), "a"), HasSubstr("damaged"));
  EXPECT_THAT(content(make_zip({{.name = "a", .content = long_text, .deflate = true, .size = 5001}}), "a"),
              HasSubstr("damaged"));
  EXPECT_THAT(content(make_zip({{.name = "a", .content = long_text, .deflate = true, .size = 4999}}), "a"),
              HasSubstr("damaged"));
  EXPECT_THAT(content(make_zip({{.name = "a", .content = long_text, .deflate = true, .size = 0}}), "a"),
              HasSubstr("damaged"));
  EXPECT_THAT(content(make_zip({{.name = "a", .content = "1", .method = 12}}), "a"),
              HasSubstr("compression method 12"));
}

TEST_F(ArchiveTest, NamesItsLimits) {
  std::string two = make_zip({{.name = "a", .content = "1"}, {.name = "bcd", .content = "2"}});
  limits_.archive_entries = 1;
  EXPECT_THAT(message(two), HasSubstr("limit archive_entries is 1"));
  limits_ = {.entry_name_bytes = 2};
  EXPECT_THAT(message(two), HasSubstr("limit entry_name_bytes is 2"));
  std::string bomb = make_zip({{.name = "a", .content = std::string(1 << 20, '\0'), .deflate = true}});
  limits_ = {.inflated_bytes = 1000, .inflate_ratio = 1 << 20};
  EXPECT_THAT(content(bomb, "a"), HasSubstr("limit inflated_bytes"));
  limits_ = {};
  EXPECT_THAT(content(bomb, "a"), HasSubstr("limit inflate_ratio is 128"));
}

TEST_F(ArchiveTest, BudgetOfInflatedBytesIsForAllEntries) {
  limits_.inflated_bytes = 9000;
  auto archive = open(make_zip({{.name = "a", .content = long_text, .deflate = true},
                                {.name = "b", .content = long_text, .deflate = true}}));
  ASSERT_TRUE(archive);
  EXPECT_TRUE(archive->read(*archive->find("a")));
  EXPECT_FALSE(archive->read(*archive->find("b")));
}

TEST_F(ArchiveTest, NamesInErrorsAreHarmless) {
  std::string zip = make_zip({{.name = "a\n\x1b[2J", .content = "1", .crc = 1}});
  EXPECT_THAT(content(zip, "a\n\x1b[2J"), HasSubstr("'a\\x0a\\x1b[2J'"));
}

}  // namespace
}  // namespace depute
