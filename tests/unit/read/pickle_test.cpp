// Pickles: values are described, nothing is run.
#include "read/pt2/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace depute {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using Kind = PickleValue::Kind;

Result<Pickle> read(const std::string& bytes, const ReadLimits& limits = {}) {
  static std::string kept;  // texts of the pickle lie in it
  kept = bytes;
  std::uint64_t values_left = limits.pickle_values;
  return read_pickle(std::as_bytes(std::span(kept)), "data.pkl", limits, values_left);
}

std::string message(const std::string& bytes, const ReadLimits& limits = {}) {
  auto pickle = read(bytes, limits);
  return pickle ? "no error" : pickle.error().str();
}

// The value of a pickle that is one constant.
PickleValue constant(const std::string& bytes) {
  auto pickle = read(bytes + ".");
  EXPECT_TRUE(pickle);
  return pickle ? (*pickle)[pickle->root] : PickleValue{};
}

TEST(Pickle, ReadsConstants) {
  EXPECT_EQ(constant("N").kind, Kind::None);
  EXPECT_EQ(constant("\x88").number, 1);
  EXPECT_EQ(constant("K\xff"s).number, 255);
  EXPECT_EQ(constant("M\x01\x02"s).number, 0x201);
  EXPECT_EQ(constant("J\xfe\xff\xff\xff"s).number, -2);
  EXPECT_EQ(constant("\x8a\x01\xff"s).number, -1);
  EXPECT_EQ(constant("\x8a\x00"s).number, 0);
  EXPECT_EQ(constant("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s).number,
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(constant("G\x3f\xe0\0\0\0\0\0\0"s).real(), 0.5);
  EXPECT_EQ(constant("X\x02\0\0\0hi"s).text(), "hi");
  EXPECT_EQ(constant("\x8c\x02hi"s).text(), "hi");
}

TEST(Pickle, BuildsContainers) {
  auto pickle = read("\x80\x02}q\0(X\1\0\0\0aq\1K\1K\2\x86X\1\0\0\0b](K\3K\4eu."s);
  ASSERT_TRUE(pickle) << pickle.error().str();
  const PickleValue& root = (*pickle)[pickle->root];
  ASSERT_EQ(root.kind, Kind::Dict);
  ASSERT_EQ(root.items.size(), 4U);
  EXPECT_EQ((*pickle)[root.items[0]].text(), "a");
  EXPECT_EQ((*pickle)[root.items[1]].kind, Kind::Tuple);
  EXPECT_EQ((*pickle)[root.items[3]].items.size(), 2U);
}

TEST(Pickle, DescribesCallsInsteadOfRunningThem) {
  auto pickle = read("cos\nsystem\n(X\4\0\0\0truetR}b."s);
  ASSERT_TRUE(pickle) << pickle.error().str();
  const PickleValue& call = (*pickle)[pickle->root];
  ASSERT_EQ(call.kind, Kind::Call);
  EXPECT_EQ(pickle->global_name(call.items[0]), "os.system");
  EXPECT_EQ(call.items.size(), 3U);
  auto stack_global = read("\x80\x04\x8c\2os\x8c\6system\x93\x94."s);
  ASSERT_TRUE(stack_global);
  EXPECT_EQ(stack_global->global_name(stack_global->root), "os.system");
}

TEST(Pickle, KeepsSharedValues) {
  auto pickle = read("]q\0h\0h\0\x86."s);
  ASSERT_TRUE(pickle) << pickle.error().str();
  const PickleValue& root = (*pickle)[pickle->root];
  EXPECT_EQ(root.items[0], root.items[1]);
}

TEST(Pickle, RefusesEverythingElse) {
  EXPECT_THAT(message(""), HasSubstr("truncated"));
  EXPECT_THAT(message("."), HasSubstr("without a value"));
  EXPECT_THAT(message("X\xff\xff\xff\xff"), HasSubstr("truncated"));
  EXPECT_THAT(message("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), HasSubstr("truncated"));
  EXPECT_THAT(message("cos\n"), HasSubstr("truncated"));
  EXPECT_THAT(message("\x85"), HasSubstr("too few values"));
  EXPECT_THAT(message("K\1(\x85"), HasSubstr("too few values"));
  EXPECT_THAT(message("t"), HasSubstr("too few values"));
  EXPECT_THAT(message("h\5"), HasSubstr("memo slot 5 is empty"));
  EXPECT_THAT(message("K\1K\1R"), HasSubstr("not a tuple"));
  EXPECT_THAT(message("K\1K\1a"), HasSubstr("is not a container"));
  EXPECT_THAT(message("}(K\1u"), HasSubstr("key without a value"));
  EXPECT_THAT(message("K\1K\1b"), HasSubstr("has none"));
  EXPECT_THAT(message("\x8a\x09"), HasSubstr("more than 64 bits"));
  EXPECT_THAT(message("\x80\x09"), HasSubstr("protocol 9"));
  EXPECT_THAT(message("P1\n."), HasSubstr("opcode 0x50"));
}

TEST(Pickle, NamesItsLimits) {
  EXPECT_THAT(message("K\1.", {.pickle_bytes = 2}), HasSubstr("limit pickle_bytes is 2"));
  EXPECT_THAT(message("K\1K\1K\1.", {.pickle_values = 2}), HasSubstr("limit pickle_values is 2"));
  EXPECT_THAT(message("Nq\0h\0h\0h\0h\0."s, {.pickle_values = 2}), HasSubstr("limit pickle_values is 2"));
}

}  // namespace
}  // namespace depute
