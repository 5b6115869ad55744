#include "depute/tools/byte_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "read/ptd.h"
#include "read/pte.h"
#include "tools/size/ledger_spans.h"

namespace depute {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path references = "tests/models/samples/ref";  // of ExecuTorch's own flow

std::vector<std::byte> file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

template <typename T>
void put(std::vector<std::byte>& bytes, std::uint64_t offset, T number) {
  ASSERT_LE(offset + sizeof number, bytes.size());
  std::memcpy(bytes.data() + offset, &number, sizeof number);
}

template <typename T>
T number_in(const std::vector<std::byte>& bytes, std::uint64_t offset) {
  T number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

// A backend that tells of its payloads what a test says.
class ToldBackend : public Backend {
 public:
  using Tell = std::function<Result<PayloadLayout>(std::span<const std::byte>)>;
  explicit ToldBackend(Tell tell) : tell_(std::move(tell)) {}

  std::string_view id() const override { return "XnnpackBackend"; }
  Result<PreprocessResult> preprocess(const Program&, std::span<const CompileSpec>) const override {
    return failure("test", "", "is not asked");
  }
  Result<PayloadLayout> layout(std::span<const std::byte> payload) const override { return tell_(payload); }

 private:
  Tell tell_;
};

Registry registry_with(ToldBackend::Tell tell) {
  Registry registry;
  EXPECT_TRUE(
      registry.add({.name = "told", .description = "", .backend = std::make_unique<ToldBackend>(tell)}));
  return registry;
}

// From 0 to the end, without a gap and none of them empty.
void expect_whole(const ByteLedger& ledger, std::size_t file_bytes) {
  std::uint64_t end = 0;
  for (const LedgerEntry& entry : ledger.entries) {
    ASSERT_EQ(entry.offset, end);
    ASSERT_GT(entry.bytes, 0);
    end += entry.bytes;
  }
  EXPECT_EQ(end, file_bytes);
  EXPECT_EQ(ledger.bytes, file_bytes);
}

std::uint64_t sum_of(const ByteLedger& ledger, LedgerKind kind) {
  std::uint64_t sum = 0;
  for (const LedgerEntry& entry : ledger.entries) sum += entry.kind == kind ? entry.bytes : 0;
  return sum;
}

std::vector<LedgerEntry> of_kind(const ByteLedger& ledger, LedgerKind kind) {
  std::vector<LedgerEntry> found;
  std::ranges::copy_if(ledger.entries, std::back_inserter(found),
                       [&](const LedgerEntry& entry) { return entry.kind == kind; });
  return found;
}

std::string error_of(const std::vector<std::byte>& bytes, const Registry& registry = {}) {
  auto ledger = byte_ledger(bytes, "x.pte", registry);
  return ledger ? "no error" : ledger.error().str();
}

// Where the flatbuffer keeps the number of a segment: found by its offset and size, which stand together.
std::uint64_t place_of_segment(const std::vector<std::byte>& bytes, std::size_t segment) {
  auto file = read_pte(bytes, "x.pte");
  const PteSegment wanted = file->segments.at(segment);
  for (std::uint64_t at = 0; at + 16 <= file->flatbuffer_bytes; at += 4) {
    const auto first = number_in<std::uint64_t>(bytes, at);
    const auto second = number_in<std::uint64_t>(bytes, at + 8);
    if (first == wanted.size && second == wanted.offset) return at + 8;  // the larger slot first
    if (first == wanted.offset && second == wanted.size) return at;
  }
  ADD_FAILURE() << "no segment " << segment;
  return 0;
}

TEST(ByteLedger, CountsEachByteOfExecuTorchsFilesOnce) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(references)) {
    const auto bytes = file_bytes(entry.path());
    auto ledger = byte_ledger(bytes, "x.pte", Registry());
    ASSERT_TRUE(ledger) << ledger.error().str();
    expect_whole(*ledger, bytes.size());
    EXPECT_EQ(sum_of(*ledger, LedgerKind::Unclaimed), 0) << entry.path();
    EXPECT_GT(sum_of(*ledger, LedgerKind::Values), 0);
    ++files;
  }
  EXPECT_EQ(files, 19);
}

TEST(ByteLedger, ConstantsAreOfTheirMethods) {
  const auto bytes = file_bytes(references / "mlp.portable.pte");
  auto ledger = byte_ledger(bytes, "x.pte", Registry());
  ASSERT_TRUE(ledger);
  const auto constants = of_kind(*ledger, LedgerKind::Constant);
  ASSERT_FALSE(constants.empty());
  for (const LedgerEntry& constant : constants) {
    EXPECT_EQ(constant.owner, "forward");
    EXPECT_THAT(constant.name, HasSubstr(": f32["));
  }
  EXPECT_EQ(sum_of(*ledger, LedgerKind::Constant), 6928);
}

TEST(ByteLedger, PayloadsAreSplitAsTheirBackendTells) {
  const auto bytes = file_bytes(references / "mlp.xnnpack.pte");
  using Kind = PayloadPart::Kind;
  const Registry registry = registry_with([](std::span<const std::byte> payload) -> Result<PayloadLayout> {
    return PayloadLayout{.parts = {{payload.size() - 8, 8, Kind::Constant, "last"},
                                   {0, 30, Kind::Header, ""},
                                   {20, 20, Kind::Tables, ""}},
                         .data_keys = {}};
  });
  auto ledger = byte_ledger(bytes, "x.pte", registry);
  ASSERT_TRUE(ledger) << ledger.error().str();
  expect_whole(*ledger, bytes.size());
  EXPECT_EQ(sum_of(*ledger, LedgerKind::PayloadHeader), 30);
  EXPECT_EQ(sum_of(*ledger, LedgerKind::PayloadTables), 10);  // what the first has, the second has not
  const auto constants = of_kind(*ledger, LedgerKind::PayloadConstant);
  ASSERT_EQ(constants.size(), 1);
  EXPECT_EQ(constants[0].name, "last");
  EXPECT_EQ(constants[0].owner, "delegate 0 of forward (XnnpackBackend)");
  EXPECT_EQ(sum_of(*ledger, LedgerKind::Payload), 0);
  // What the backend does not tell of is not zeros here.
  EXPECT_EQ(of_kind(*ledger, LedgerKind::Unclaimed).at(0).owner, constants[0].owner);
}

TEST(ByteLedger, WhatBackendsTellIsNotTrusted) {
  const auto bytes = file_bytes(references / "mlp.xnnpack.pte");
  for (const auto& [offset, size] :
       {std::pair<std::uint64_t, std::uint64_t>{0, 1 << 20}, {1 << 20, 0}, {8, ~std::uint64_t{0}}}) {
    const Registry registry =
        registry_with([offset, size](std::span<const std::byte>) -> Result<PayloadLayout> {
          return PayloadLayout{.parts = {{offset, size, PayloadPart::Kind::Tables, ""}}, .data_keys = {}};
        });
    EXPECT_THAT(error_of(bytes, registry), HasSubstr("[size] x.pte: delegate 0 of forward: its backend"));
  }
  const Registry failing = registry_with([](std::span<const std::byte>) -> Result<PayloadLayout> {
    return failure("told", "byte 3", "is damaged");
  });
  EXPECT_EQ(error_of(bytes, failing), "[told] x.pte: delegate 0 of forward: byte 3: is damaged");
}

TEST(ByteLedger, NamedDataAreOfTheDelegatesThatAskForThem) {
  const auto bytes = file_bytes(references / "mlp.xnnpack.pte");
  auto file = read_pte(bytes, "x.pte");
  const std::string key = file->named_data.at(0).key;
  const Registry registry = registry_with([&](std::span<const std::byte>) -> Result<PayloadLayout> {
    return PayloadLayout{.parts = {}, .data_keys = {key}};
  });
  auto ledger = byte_ledger(bytes, "x.pte", registry);
  ASSERT_TRUE(ledger) << ledger.error().str();
  const auto data = of_kind(*ledger, LedgerKind::NamedData);
  const auto owned = std::ranges::count(data, "delegate 0 of forward (XnnpackBackend)", &LedgerEntry::owner);
  EXPECT_EQ(owned, 1);
  EXPECT_GT(data.size(), 1);
  EXPECT_GT(sum_of(*ledger, LedgerKind::Payload), 0);  // no parts: as a whole
}

TEST(LedgerSpans, SevenZerosInsideOfOneThingAreItsOwn) {
  for (const std::uint64_t zeros : {7, 8}) {
    const std::vector<std::byte> bytes(16 + zeros);
    LedgerSpans spans(bytes);
    const std::uint32_t values = spans.label(LedgerKind::Values, "forward");
    const auto settled =
        spans.settle({{8 + zeros, 16 + zeros, values}, {0, 8, values}}, 0, 16 + zeros, "flatbuffer");
    ASSERT_EQ(settled.size(), zeros == 7 ? 1 : 3);
    EXPECT_EQ(spans.of(settled.back().label).kind, LedgerKind::Values);
  }
}

// --- damage

TEST(ByteLedger, SegmentsMustLieApart) {
  const auto bytes = file_bytes(references / "mlp.xnnpack.pte");
  auto file = read_pte(bytes, "x.pte");
  std::vector<std::size_t> with_bytes;
  for (std::size_t i = 0; i < file->segments.size(); ++i) {
    if (file->segments[i].size != 0) with_bytes.push_back(i);
  }
  ASSERT_GE(with_bytes.size(), 2);
  auto damaged = bytes;
  put(damaged, place_of_segment(bytes, with_bytes[1]), file->segments[with_bytes[0]].offset + 4);
  EXPECT_THAT(error_of(damaged),
              testing::ContainsRegex("segments\\[[0-9]+\\]: [0-9]+ to [0-9]+ overlaps with "
                                     "segments\\[[0-9]+\\], which ends at"));
  damaged = bytes;
  put(damaged, 24, std::uint64_t{64});  // the segment base
  put(damaged, 32, std::uint64_t{0});
  EXPECT_THAT(error_of(damaged), HasSubstr("inside the flatbuffer"));
  damaged = bytes;
  put(damaged, place_of_segment(bytes, with_bytes[1]), std::uint64_t{1} << 40);
  EXPECT_THAT(error_of(damaged), HasSubstr("[read_pte] x.pte: segments["));
}

TEST(ByteLedger, ConstantsMustLieInTheirSegment) {
  const auto bytes = file_bytes(references / "mlp.portable.pte");
  // One of these is the shape of a constant.
  const std::int32_t shape[2] = {32, 32};
  const auto* start = reinterpret_cast<const std::byte*>(shape);
  std::string errors;
  auto found = bytes.begin();
  while ((found = std::search(found, bytes.end(), start, start + sizeof shape)) != bytes.end()) {
    auto damaged = bytes;
    put(damaged, static_cast<std::uint64_t>(found - bytes.begin()), std::int32_t{1 << 20});
    errors += error_of(damaged) + "\n";
    ++found;
  }
  EXPECT_THAT(errors, testing::ContainsRegex("execution_plan\\[0\\].values\\[[0-9]+\\]: f32\\[1048576, "
                                             "32\\] has 134217728 bytes, of the [0-9]+ left"));
}

TEST(ByteLedger, WhatIsNoFileOfOursIsRefused) {
  for (std::size_t size : {0, 3, 8, 63, 64, 200}) {
    EXPECT_EQ(error_of(std::vector<std::byte>(size, std::byte{0x41})),
              "[size] x.pte: this is neither a .pte nor a .ptd file");
  }
}

TEST(ByteLedger, DamagedFilesAreWholeOrRefused) {
  std::mt19937 dice(7);
  for (const char* name : {"mlp.portable.pte", "mlp.xnnpack.pte", "cond.portable.pte", "multi.xnnpack.pte"}) {
    const auto bytes = file_bytes(references / name);
    for (int round = 0; round < 400; ++round) {
      auto damaged = bytes;
      for (int i = 0; i < 1 + round % 4; ++i)
        damaged[dice() % damaged.size()] ^= std::byte{static_cast<unsigned char>(1U << dice() % 8)};
      if (round % 5 == 0) damaged.resize(dice() % damaged.size());
      auto ledger = byte_ledger(damaged, "x.pte", Registry());
      if (ledger) {
        expect_whole(*ledger, damaged.size());
      } else if (damaged.size() > 8 && !ledger.error().hint.starts_with("give")) {
        EXPECT_TRUE(ledger.error().where.starts_with("x.pte: ")) << ledger.error().str();
      }
    }
  }
}

TEST(ByteLedger, BytesBehindTheEndAreUnclaimed) {
  auto bytes = file_bytes(references / "mlp.portable.pte");
  bytes.insert(bytes.end(), 5, std::byte{1});
  bytes.insert(bytes.end(), 3, std::byte{0});
  auto ledger = byte_ledger(bytes, "x.pte", Registry());
  ASSERT_TRUE(ledger) << ledger.error().str();
  expect_whole(*ledger, bytes.size());
  EXPECT_GE(sum_of(*ledger, LedgerKind::Unclaimed), 8);
}

// --- duplicates

// The bytes of `from` over those of `to`.
void copy_bytes(std::vector<std::byte>& bytes, const LedgerEntry& from, const LedgerEntry& to) {
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(from.offset), from.bytes,
              bytes.begin() + static_cast<std::ptrdiff_t>(to.offset));
}

// Two of a kind with one size, in the order of the file.
std::pair<LedgerEntry, LedgerEntry> twins(const ByteLedger& ledger, LedgerKind kind) {
  const auto found = of_kind(ledger, kind);
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::size_t k = i + 1; k < found.size(); ++k) {
      if (found[i].bytes == found[k].bytes) return {found[i], found[k]};
    }
  }
  ADD_FAILURE() << "no two have one size";
  return {};
}

TEST(ByteLedger, PlantedDuplicatesAreFound) {
  for (const auto& [name, kind, how] :
       {std::tuple("mlp.portable.pte", LedgerKind::Constant, "values of all methods can name one constant"),
        std::tuple("mlp.xnnpack.pte", LedgerKind::NamedData, "keys can name one segment")}) {
    auto bytes = file_bytes(references / name);
    auto before = byte_ledger(bytes, "x.pte", Registry());
    ASSERT_TRUE(before);
    EXPECT_EQ(before->savable(), 0);
    const auto [first, second] = twins(*before, kind);
    copy_bytes(bytes, first, second);
    auto ledger = byte_ledger(bytes, "x.pte", Registry());
    ASSERT_TRUE(ledger);
    ASSERT_EQ(ledger->duplicates.size(), before->duplicates.size() + 1);
    const Duplicate& duplicate = ledger->duplicates[0];
    EXPECT_EQ(duplicate.saves, first.bytes);
    EXPECT_EQ(duplicate.how, how);
    ASSERT_EQ(duplicate.copies.size(), 2);
    EXPECT_EQ(duplicate.copies[0].offset, first.offset);
    EXPECT_EQ(duplicate.copies[1].offset, second.offset);
    EXPECT_EQ(ledger->savable(), first.bytes);
    EXPECT_THAT(ledger_text(*ledger, 0),
                HasSubstr("sharing them would save " + std::to_string(first.bytes) + "\n"));
  }
}

// The first two payloads of this file, each one told as two constants of 64 bytes and the rest.
Registry registry_of_constants() {
  return registry_with([](std::span<const std::byte> payload) -> Result<PayloadLayout> {
    using Kind = PayloadPart::Kind;
    return PayloadLayout{.parts = {{0, 64, Kind::Constant, "a"},
                                   {64, 64, Kind::Constant, "b"},
                                   {128, payload.size() - 128, Kind::Tables, ""}},
                         .data_keys = {}};
  });
}

TEST(ByteLedger, PayloadsThatAreCopiesAreCountedAsWholesOnce) {
  auto bytes = file_bytes(references / "attn.xnnpack.pte");
  auto before = byte_ledger(bytes, "x.pte", Registry());
  ASSERT_TRUE(before);
  const auto payloads = of_kind(*before, LedgerKind::Payload);
  ASSERT_GE(payloads.size(), 2);
  // The second payload's segment gets the first one's size, and its bytes: both files know sizes exactly.
  const LedgerEntry& small = *std::ranges::min_element(payloads, {}, &LedgerEntry::bytes);
  const LedgerEntry& large = *std::ranges::max_element(payloads, {}, &LedgerEntry::bytes);
  auto file = read_pte(bytes, "x.pte");
  std::size_t segment = 0;
  while (file->segments[segment].offset + file->segment_base != large.offset) ++segment;
  if (small.bytes != large.bytes) {
    const std::uint64_t at = place_of_segment(bytes, segment);
    const std::uint64_t size_at = number_in<std::uint64_t>(bytes, at + 8) == large.bytes ? at + 8 : at - 8;
    put(bytes, size_at, small.bytes);
  }
  copy_bytes(bytes, small, large);
  const Registry registry = registry_of_constants();
  auto ledger = byte_ledger(bytes, "x.pte", registry);
  ASSERT_TRUE(ledger) << ledger.error().str();
  ASSERT_EQ(ledger->savable(), small.bytes);
  EXPECT_EQ(ledger->duplicates[0].how, "delegates can name one segment");
  EXPECT_EQ(ledger->duplicates[0].copies[0].kind, LedgerKind::Payload);

  // One byte of the rest differs: the constants are told, each by itself.
  const std::uint64_t last = std::max(small.offset, large.offset) + small.bytes - 1;
  bytes[last] ^= std::byte{1};
  ledger = byte_ledger(bytes, "x.pte", registry);
  ASSERT_TRUE(ledger) << ledger.error().str();
  ASSERT_EQ(ledger->duplicates.size(), 2);
  EXPECT_EQ(ledger->savable(), 128);
  EXPECT_EQ(ledger->duplicates[0].how, "as named data, delegates of all methods can share it");
}

TEST(ByteLedger, ConstantsAndTheDataOfDelegatesCanShare) {
  const auto bytes = file_bytes(references / "tied.xnnpack.pte");
  auto ledger = byte_ledger(bytes, "x.pte", Registry());
  ASSERT_TRUE(ledger);
  ASSERT_EQ(ledger->duplicates.size(), 1);  // the tied weight
  EXPECT_EQ(ledger->savable(), 288);
  EXPECT_EQ(ledger->duplicates[0].how, "the segment of named data can lie inside that of the constants");
}

TEST(ByteLedger, BytesThatAreSharedAreToldOnce) {
  auto bytes = file_bytes(references / "tied.xnnpack.pte");
  auto before = byte_ledger(bytes, "x.pte", Registry());
  ASSERT_TRUE(before);
  ASSERT_EQ(before->duplicates.size(), 1);
  const LedgerEntry& constant = before->duplicates[0].copies[0];
  const LedgerEntry& data = before->duplicates[0].copies[1];
  auto file = read_pte(bytes, "x.pte");
  std::size_t segment = 0;
  while (file->segments[segment].offset + file->segment_base != data.offset) ++segment;
  put(bytes, place_of_segment(bytes, segment), constant.offset - file->segment_base);
  auto ledger = byte_ledger(bytes, "x.pte", Registry());
  ASSERT_TRUE(ledger) << ledger.error().str();
  expect_whole(*ledger, bytes.size());
  EXPECT_EQ(ledger->savable(), 0);
  auto shared = std::ranges::find(ledger->entries, constant.offset, &LedgerEntry::offset);
  ASSERT_NE(shared, ledger->entries.end());
  EXPECT_EQ(shared->name, constant.name + ", " + data.name);
  EXPECT_EQ(shared->bytes, constant.bytes);
}

// --- text and JSON

TEST(ByteLedger, TextListsTheLargestFirst) {
  ByteLedger ledger{.file = "m.pte", .format = "pte", .bytes = 1000};
  ledger.entries = {{0, 100, LedgerKind::Header, "", ""},
                    {100, 300, LedgerKind::Constant, "forward", "%1: f32[75]"},
                    {400, 500, LedgerKind::NamedData, "", "key\n"},
                    {900, 60, LedgerKind::Constant, "forward", "%2: f32[15]"},
                    {960, 40, LedgerKind::Padding, "", ""}};
  EXPECT_EQ(ledger_text(ledger, 2),
            "m.pte: 1000 bytes\n"
            " 860  86.0%  weights\n"
            " 500  50.0%    named data key\\n\n"
            " 300  30.0%    constant %1: f32[75], forward\n"
            "  60   6.0%    1 more\n"
            " 100  10.0%  tables of the file\n"
            " 100  10.0%    header\n"
            "  40   4.0%  padding and unused\n"
            "  40   4.0%    padding\n"
            "1000 100.0%  total\n");
  EXPECT_THAT(ledger_text(ledger, 0), HasSubstr("  60   6.0%    constant %2: f32[15], forward\n"));
}

TEST(ByteLedger, JsonHasEveryEntry) {
  ByteLedger ledger{.file = "m.pte", .format = "pte", .bytes = 8};
  ledger.entries = {{0, 8, LedgerKind::Header, "o", "\xff"}};
  ledger.duplicates = {{.copies = {ledger.entries[0]}, .saves = 3, .how = "so"}};
  EXPECT_EQ(ledger_json(ledger),
            "{\n \"file\": \"m.pte\",\n \"format\": \"pte\",\n \"bytes\": 8,\n \"savable\": 3,\n"
            " \"kinds\": {\n  \"header\": 8\n },\n \"entries\": [\n  {\n   \"offset\": 0,\n   \"bytes\": 8,\n"
            "   \"kind\": \"header\",\n   \"owner\": \"o\",\n   \"name\": \"\xef\xbf\xbd\"\n  }\n ],\n"
            " \"duplicates\": [\n  {\n   \"saves\": 3,\n   \"how\": \"so\",\n   \"copies\": [\n    {\n"
            "     \"offset\": 0,\n     \"bytes\": 8,\n     \"kind\": \"header\",\n     \"owner\": \"o\",\n"
            "     \"name\": \"\xef\xbf\xbd\"\n    }\n   ]\n  }\n ],\n \"load_memory\": []\n}\n");
}

}  // namespace
}  // namespace depute
