// Results that are kept: who is asked again, and what comes back.
#include <atomic>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/backend/partitioners.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "tests/unit/colliding_bytes.h"

namespace depute {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Vendor {
  std::string version = "1";
  std::atomic<int> asked = 0;
};

// All that a result can have.
class VendorBackend : public Backend {
 public:
  explicit VendorBackend(Vendor& vendor) : vendor_(vendor) {}
  std::string_view id() const override { return "Vendor"; }
  std::string cache_version() const override { return vendor_.version; }
  Result<PreprocessResult> preprocess(const Program& program, std::span<const CompileSpec>) const override {
    ++vendor_.asked;
    PreprocessResult result{.processed_bytes = storage_of(program.methods[0]->graph->first()->op().str())};
    result.debug_handle_map = {{std::string("conv"), {program.methods[0]->graph->first()->debug_handle}}};
    for (const auto& [key, data] : program.data) {
      NamedData named{.key = std::string(key.str()), .storage = dense_bytes(data), .alignment = 32};
      named.layout = data.type;
      result.data_store_output.push_back(std::move(named));
    }
    const std::string key = "made:" + std::string(program.methods[0]->graph->first()->display_name());
    result.data_store_output.push_back({.key = key,
                                        .storage = Storage::lazy(3, [] { return bytes("abc"); }),
                                        .alignment = 64,
                                        .external_tag = "weights"});
    result.delegate_info = "made by version " + vendor_.version;
    result.arena_padding = 16;
    result.inline_bytes = true;
    return result;
  }

 private:
  Vendor& vendor_;
};

class ResultCacheTest : public testing::Test {
 protected:
  ResultCacheTest() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::temp_directory_path() / ("depute_cache_" + name + std::to_string(getpid()));
    BackendEntry entry;
    entry.name = "vendor";
    entry.backend = std::make_unique<VendorBackend>(vendor_);
    EXPECT_TRUE(registry_.add(std::move(entry)));
  }
  ~ResultCacheTest() override { fs::remove_all(folder_); }

  static Program program(std::string_view second = "[3, 4]", std::string_view op = "aten.sin.default") {
    const std::string text = fmt::format(R"(program
data "a": f32[2] = [1, 2]
data "b": f32[2] = {}

method forward(%a: f32[2] = param "a", %b: f32[2] = param "b", %x: f32[2]) {{
  %p: f32[2] = aten.add.Tensor(%x, %a) !t0 #1
  %q: f32[2] = {}(%p) #2
  %r: f32[2] = aten.mul.Tensor(%q, %b) !t1 #3
  return %r
}}
)",
                                         second, op);
    auto parsed = parse_program(text);
    EXPECT_TRUE(parsed) << parsed.error().str();
    return std::move(*parsed);
  }

  Lowered lower(const Program& program, CacheOptions options, std::vector<CompileSpec> specs = {}) {
    vendor_.asked = 0;
    auto lowered = to_backend(program, TaggedPartitioner({"Vendor", std::move(specs)}), registry_,
                              {.cache = std::move(options)});
    EXPECT_TRUE(lowered) << lowered.error().str();
    return std::move(*lowered);
  }
  Lowered lower(const Program& program) { return lower(program, {.store = folder_}); }

  fs::path folder_;
  Vendor vendor_;
  Registry registry_;
};

TEST_F(ResultCacheTest, GivesBackWhatWasMade) {
  Lowered first = lower(program());
  EXPECT_EQ(vendor_.asked, 2);
  Lowered second = lower(program());
  EXPECT_EQ(vendor_.asked, 0);
  EXPECT_EQ(second.cache.found, 2U);
  EXPECT_THAT(second.cache.notes, ElementsAre());
  EXPECT_EQ(first_difference(first.program, second.program), std::nullopt);
  const Delegate& delegate = *second.program.delegates[0];
  EXPECT_EQ(delegate.debug_handle_map[0].first, DelegateDebugId(std::string("conv")));
  EXPECT_EQ(delegate.named_data[0].layout, delegate.original->data.begin()->second.type);
  EXPECT_EQ(delegate.named_data[1].external_tag, "weights");
  EXPECT_EQ(delegate.delegate_info, "made by version 1");
}

TEST_F(ResultCacheTest, AsksOnlyForWhatHasChanged) {
  lower(program());
  Lowered changed = lower(program("[3, 5]"));
  EXPECT_EQ(vendor_.asked, 1);
  EXPECT_EQ(changed.cache.found, 1U);
  EXPECT_EQ(changed.cache.made, 1U);
  // What lies between partitions is none of theirs.
  lower(program("[3, 4]", "aten.cos.default"));
  EXPECT_EQ(vendor_.asked, 0);
}

TEST_F(ResultCacheTest, WeightsThatHaveOnlyTheHashInCommonAreOthers) {
  auto parsed = parse_program(R"(program
data "w": u8[4096] = zeros
method forward(%w: u8[4096] = param "w", %x: u8[4096]) {
  %p: u8[4096] = aten.add.Tensor(%x, %w) !t0 #1
  return %p
}
)");
  ASSERT_TRUE(parsed) << parsed.error().str();
  const auto [first, second] = colliding_bytes();
  for (const std::string& weight : {first, second}) {
    parsed->data[Name("w")].storage = storage_of(weight);
    lower(*parsed);
    EXPECT_EQ(vendor_.asked, 1);
  }
}

TEST_F(ResultCacheTest, SpecsAndVersionsArePartOfTheKey) {
  lower(program());
  lower(program(), {.store = folder_}, {{"fast", bytes("1")}});
  EXPECT_EQ(vendor_.asked, 2);
  vendor_.version = "2";
  Lowered newer = lower(program());
  EXPECT_EQ(vendor_.asked, 2);
  EXPECT_EQ(newer.program.delegates[0]->delegate_info, "made by version 2");
}

TEST_F(ResultCacheTest, KeepsNothingOfABackendWithoutAVersion) {
  vendor_.version = "";
  lower(program());
  Lowered again = lower(program());
  EXPECT_EQ(vendor_.asked, 2);
  EXPECT_EQ(again.cache.found + again.cache.made, 0U);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ResultCacheTest, WithoutAFolderNothingIsKept) {
  lower(program(), {});
  lower(program(), {});
  EXPECT_EQ(vendor_.asked, 2);
}

TEST_F(ResultCacheTest, ADamagedEntryIsMadeAnew) {
  lower(program());
  for (const auto& entry : fs::directory_iterator(folder_)) fs::resize_file(entry.path(), 80);
  Lowered again = lower(program());
  EXPECT_EQ(vendor_.asked, 2);
  ASSERT_EQ(again.cache.notes.size(), 2U);
  EXPECT_THAT(again.cache.notes[0], HasSubstr("it is truncated"));
  lower(program());
  EXPECT_EQ(vendor_.asked, 0);
}

TEST_F(ResultCacheTest, AFolderThatIsNoneIsAnError) {
  std::ofstream(folder_) << "a file";
  auto lowered =
      to_backend(program(), TaggedPartitioner({"Vendor", {}}), registry_, {.cache = {.store = folder_}});
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().code, "cache");
}

}  // namespace
}  // namespace depute
