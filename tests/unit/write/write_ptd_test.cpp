// Constants and named data in files of their own, and named data gathered from delegates.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "depute/backend/backend.h"
#include "depute/program/text.h"
#include "plan/plan_text.h"
#include "read/ptd.h"
#include "read/pte.h"
#include "support/output_file.h"
#include "write/write_pte.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

class WritePtd : public testing::Test {
 protected:
  WritePtd() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        fs::temp_directory_path() / ("depute_ptd_" + std::string(test->name()) + std::to_string(getpid()));
    fs::create_directory(folder_);
  }
  ~WritePtd() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  static Program parse(const std::string& text) {
    auto program = parse_program(text);
    EXPECT_TRUE(program) << program.error().str();
    return std::move(*program);
  }

  Result<WriteSummary> write(const Program& program, bool with_ptd = true, int jobs = 1) {
    const std::vector<DataFile> files =
        with_ptd ? std::vector<DataFile>{{path("m.ptd")}} : std::vector<DataFile>{};
    auto plan = make_plan(program, {.ptd = files});
    if (!plan) return Failure(plan.error());
    return write_pte(program, *plan, path("m.pte"), {.jobs = jobs, .ptd = files});
  }

  std::string bytes(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  PteContents pte() const {
    std::string file = bytes("m.pte");
    auto pte = read_pte(std::as_bytes(std::span(file)), "m.pte");
    EXPECT_TRUE(pte) << pte.error().str();
    return std::move(*pte);
  }
  PtdFile ptd(const std::string& name = "m.ptd") const {
    std::string file = bytes(name);
    auto ptd = read_ptd(std::as_bytes(std::span(file)), name);
    EXPECT_TRUE(ptd) << ptd.error().str();
    return std::move(*ptd);
  }
  std::string bytes_of(const PtdData& data, const std::string& name = "m.ptd") const {
    return bytes(name).substr(data.offset, data.size);
  }

  fs::path folder_;
};

constexpr const char* no_delegates = R"(program
data "w": f32[2, 2]{strides=[1, 2]} = [1.0, 2.0, 3.0, 4.0]
data "same": f32[4] = [1.0, 2.0, 3.0, 4.0]
data "one": f32[] = [2.0]
data "none": f32[0, 3] = zeros
data "count": f32[2] = [5.0, 6.0]
data "out": f32[2] = [7.0, 8.0]

method forward(%w: f32[2, 2] = param "w", %same: f32[4] = param "same", %one: f32[] = constant "one", %none: f32[0, 3] = buffer "none", %count: f32[2] = buffer "count", %out: f32[2] = param "out", %x: f32[2, 2]) {
  %a: f32[2, 2] = aten.add.Tensor(%x, %w)
  %b: f32[2, 2] = aten.mul.Tensor(%a, %one)
  %v: f32[2, 2] = aten.view.default(%same, [2, 2])
  %c: f32[2, 2] = aten.add.Tensor(%b, %v)
  %d: f32[4] = aten.sin.default(%same)
  %e: f32[0, 3] = aten.sin.default(%none)
  %n: f32[2] = aten.add.Tensor(%count, %one)
  store buffer "count" = %n
  return %c, %d, %e, %out
}
)";

TEST_F(WritePtd, HoldsConstantsByName) {
  Program program = parse(no_delegates);
  ASSERT_TRUE(write(program));
  PtdFile file = ptd();
  ASSERT_EQ(file.data.size(), 3);  // not the single number, nothing, state, or what is returned
  EXPECT_EQ(file.data[0].key, "w");
  EXPECT_EQ(tensor_text(*file.data[0].layout), "f32[2, 2]");
  const float dense[] = {1.0F, 3.0F, 2.0F, 4.0F};
  EXPECT_EQ(bytes_of(file.data[0]), std::string(reinterpret_cast<const char*>(dense), sizeof dense));
  // One tensor in two layouts has two names and is there once.
  EXPECT_EQ(file.data[1].key, "same");
  EXPECT_EQ(file.data[2].key, "same[2, 2]");
  EXPECT_EQ(file.data[1].offset, file.data[2].offset);
  EXPECT_EQ(tensor_text(*file.data[2].layout), "f32[2, 2]");
}

TEST_F(WritePtd, TheProgramRefersToTheFile) {
  Program program = parse(no_delegates);
  auto plan = make_plan(program, {.ptd = {{path("m.ptd")}}});
  ASSERT_TRUE(plan);
  ASSERT_TRUE(write(program));
  PteContents file = pte();
  EXPECT_EQ(plan_text(file.methods[0]), plan_text(plan->methods[0]));
  EXPECT_NE(plan_text(file.methods[0]).find("= external \"w\""), std::string::npos);
  EXPECT_EQ(file.constant_offsets.size(), 4);  // the number, nothing, and the output
  EXPECT_EQ(file.mutable_offsets.size(), 2);
}

TEST_F(WritePtd, AProgramWithoutConstantsHasNoFile) {
  auto summary = write(parse("program\nmethod forward(%x: f32[2]) {\n  return %x\n}\n"));
  ASSERT_TRUE(summary);
  EXPECT_EQ(files(), std::vector<std::string>{"m.pte"});
  EXPECT_EQ(summary->warnings.size(), 1);
}

constexpr const char* tagged = R"(program
data "w": f32[4] = [1.0, 2.0, 3.0, 4.0]

delegate outer backend "Outer" {
  blob "x"
  data "base" align 16 = "0123456789"
  data "adapter" align 1024 external "lora" = "ADAPTER"
  original {
    delegate inner backend "Inner" {
      blob "y"
      data "deep" align 4096 = "DEEP"
      data "base" align 512 external "lora" = "0123456789"
      data "adapter" align 2048 external "other" = "ADAPTER"
    }
    method forward(%x: f32[4]) {
      %c: f32[4] = delegate.call(@inner, %x)
      return %c
    }
  }
}

method forward(%w: f32[4] = param "w", %x: f32[4]) {
  %a: f32[4] = aten.add.Tensor(%x, %w)
  %d: f32[4] = delegate.call(@outer, %a)
  return %d
}
)";

TEST_F(WritePtd, NamedDataOfNestedDelegatesAreGathered) {
  auto merged = merge_named_data(parse(tagged));
  ASSERT_TRUE(merged) << merged.error().str();
  const std::vector<NamedData>& named = merged->entries();
  ASSERT_EQ(named.size(), 3);
  EXPECT_EQ(named[0].key, "base");  // wanted in the program's own file by one of them
  EXPECT_EQ(named[0].external_tag, "");
  EXPECT_EQ(named[0].alignment, 512);
  EXPECT_EQ(named[1].key, "adapter");  // in the file of the first tag
  EXPECT_EQ(named[1].external_tag, "lora");
  EXPECT_EQ(named[1].alignment, 2048);
  EXPECT_EQ(named[2].key, "deep");
}

TEST_F(WritePtd, TagsHaveFilesOfTheirOwn) {
  auto summary = write(parse(tagged), false);
  ASSERT_TRUE(summary) << summary.error().str();
  EXPECT_EQ(files(), (std::vector<std::string>{"m.pte", "m_lora.ptd"}));
  ASSERT_EQ(summary->external_files.size(), 1);
  EXPECT_EQ(summary->external_files[0].path, path("m_lora.ptd"));
  EXPECT_EQ(summary->external_files[0].bytes, bytes("m_lora.ptd").size());
  PtdFile lora = ptd("m_lora.ptd");
  ASSERT_EQ(lora.data.size(), 1);
  EXPECT_EQ(bytes_of(lora.data[0], "m_lora.ptd"), "ADAPTER");
  EXPECT_EQ(lora.data[0].offset % 2048, 0);
  EXPECT_FALSE(lora.data[0].layout);
  PteContents file = pte();
  ASSERT_EQ(file.named_data.size(), 2);
  EXPECT_EQ((file.segment_base + file.segments[file.named_data[0].segment].offset) % 512, 0);
  EXPECT_EQ((file.segment_base + file.segments[file.named_data[1].segment].offset) % 4096, 0);
}

TEST_F(WritePtd, AllOtherNamedDataGoToTheFileThatWasAskedFor) {
  ASSERT_TRUE(write(parse(tagged)));
  EXPECT_EQ(files(), (std::vector<std::string>{"m.ptd", "m.pte", "m_lora.ptd"}));
  EXPECT_TRUE(pte().named_data.empty());
  PtdFile file = ptd();
  ASSERT_EQ(file.data.size(), 3);
  EXPECT_EQ(file.data[0].key, "w");
  EXPECT_EQ(file.data[1].key, "base");
  EXPECT_EQ(file.data[1].offset % 512, 0);
  EXPECT_EQ(file.data[2].key, "deep");
  EXPECT_EQ(file.data[2].offset % 4096, 0);
}

TEST_F(WritePtd, OneBlobUnderSeveralKeysTakesTheStrictestAlignment) {
  std::string blob(300, 'b');
  Program program =
      parse("program\ndelegate d backend \"B\" {\n  blob \"x\"\n  data \"k1\" align 128 = \"" + blob +
            "\"\n  data \"k2\" align 4096 = \"" + blob + "\"\n  data \"k3\" align 256 = \"" + blob +
            "\"\n}\nmethod forward(%x: f32[2]) {\n  return %x\n}\n");
  ASSERT_TRUE(write(program));
  PtdFile file = ptd();
  ASSERT_EQ(file.data.size(), 3);
  EXPECT_EQ(file.data[0].offset % 4096, 0);
  EXPECT_EQ(file.data[1].offset, file.data[0].offset);
  EXPECT_EQ(file.data[2].offset, file.data[0].offset);
}

constexpr const char* named_like_constant = R"(program
data "w": f32[2] = [1.0, 2.0]
delegate d backend "B" {
  blob "x"
  data "w" align 1024 = hex("0000803f00000040")
}
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[2] = aten.add.Tensor(%x, %w)
  %d: f32[2] = delegate.call(@d, %a)
  return %d
}
)";

TEST_F(WritePtd, ADelegateMayHaveAConstantUnderItsName) {
  ASSERT_TRUE(write(parse(named_like_constant)));
  PtdFile file = ptd();
  ASSERT_EQ(file.data.size(), 1);
  EXPECT_TRUE(file.data[0].layout);
  EXPECT_EQ(file.data[0].offset % 1024, 0);
}

TEST_F(WritePtd, AKeyThatNamesDifferentBytesIsRefused) {
  std::string text = named_like_constant;
  text.replace(text.find("0000803f"), 8, "00000000");
  auto summary = write(parse(text));
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().where, "delegate d");
  EXPECT_TRUE(files().empty());

  text = tagged;
  text.replace(text.find("external \"lora\" = \"0123456789\""), 30, "external \"lora\" = \"0123456780\"");
  summary = write(parse(text));
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().where, "delegate inner");
  EXPECT_EQ(summary.error().message,
            "its named data \"base\" differs from the data of delegate outer with the same key");
}

TEST_F(WritePtd, TagsThatAreNoPartOfAFileNameAreRefused) {
  Program program = parse(tagged);
  program.delegates[0]->named_data[1].external_tag = "../up";
  auto summary = write(program);
  ASSERT_FALSE(summary);
  EXPECT_NE(summary.error().message.find("\"../up\""), std::string::npos) << summary.error().str();
  program.delegates[0]->named_data[1].external_tag = "";
  program.delegates[0]->named_data[1].alignment = 48;
  EXPECT_FALSE(write(program));
}

TEST_F(WritePtd, BytesDoNotDependOnJobs) {
  ASSERT_TRUE(write(parse(tagged), true, 1));
  auto first = std::pair(bytes("m.pte"), bytes("m.ptd"));
  ASSERT_TRUE(write(parse(tagged), true, 4));
  EXPECT_EQ(first, std::pair(bytes("m.pte"), bytes("m.ptd")));
}

// Every single damaged byte is an error or another sound file, never a crash.
constexpr const char* with_layouts = R"(program
delegate d0 backend "B" {
  blob "x"
  data "rows" layout u8[2, 3] = "abcdef"
  data "columns" external "more" layout u8[2, 3]{strides=[1, 2]} = "ghijkl"
  data "plain" = "mnop"
}

method forward(%x: f32[2]) {
  %a: f32[2] = delegate.call(@d0, %x)
  return %a
}
)";

TEST_F(WritePtd, NamedDataKeepTheirLayouts) {
  auto summary = write(parse(with_layouts));
  ASSERT_TRUE(summary) << summary.error().str();
  PtdFile file = ptd();
  ASSERT_EQ(file.data.size(), 2);
  ASSERT_TRUE(file.data[0].layout);
  EXPECT_EQ(tensor_text(*file.data[0].layout), "u8[2, 3]");
  EXPECT_FALSE(file.data[1].layout);
  PtdFile more = ptd("m_more.ptd");
  ASSERT_TRUE(more.data[0].layout);
  EXPECT_EQ(tensor_text(*more.data[0].layout), "u8[2, 3]{dim_order=[1, 0]}");
  EXPECT_EQ(bytes_of(more.data[0], "m_more.ptd"), "ghijkl");
}

TEST_F(WritePtd, NamedDataWithALayoutStayInTheProgramUnlessAsked) {
  auto summary = write(parse(with_layouts), false);
  ASSERT_TRUE(summary) << summary.error().str();
  ASSERT_EQ(pte().named_data.size(), 2);  // a .pte has no room for layouts
  EXPECT_EQ(pte().named_data[0].key, "rows");
}

TEST_F(WritePtd, TheFirstLayoutOfAKeyHolds) {
  NamedDataStore store;
  ASSERT_TRUE(store.add("k", storage_of("abcd")));
  NamedData typed{.key = "k", .storage = storage_of("abcd")};
  typed.layout = make_tensor(ScalarType::U8, {4});
  ASSERT_TRUE(store.add(typed));
  typed.layout = make_tensor(ScalarType::U8, {2, 2});
  ASSERT_TRUE(store.add(typed));
  ASSERT_EQ(store.entries().size(), 1);
  EXPECT_EQ(store.entries()[0].layout, make_tensor(ScalarType::U8, {4}));
}

TEST_F(WritePtd, ATensorIsAddedWithItsLayoutAndDense) {
  NamedDataStore store;
  TensorData turned{make_tensor(ScalarType::U8, {2, 2}, {1, 2}), 1, storage_of("-abcd-")};
  ASSERT_TRUE(store.add("k", turned));
  const NamedData& entry = store.entries()[0];
  EXPECT_EQ(entry.layout, make_tensor(ScalarType::U8, {2, 2}));
  EXPECT_TRUE(std::ranges::equal(entry.storage->bytes(), depute::bytes("acbd")));
}

TEST_F(WritePtd, LayoutsThatTheBytesDoNotHaveAreRefused) {
  for (TensorType layout :
       {make_tensor(ScalarType::U8, {3}), make_tensor(ScalarType::F32, {4}),
        make_tensor(ScalarType::U8, {4}, {2}), make_tensor(ScalarType::U8, {SymInt::symbol("s0")})}) {
    NamedDataStore store;
    NamedData data{.key = "k", .storage = storage_of("abcd")};
    data.layout = layout;
    auto added = store.add(data);
    ASSERT_FALSE(added) << str(layout);
    EXPECT_EQ(added.error().code, "to_backend.bad-named-data");
  }
}

TEST_F(WritePtd, MemoryGetsTheBytesOfTheFiles) {
  Program program = parse(tagged);
  ASSERT_TRUE(write(program));
  auto plan = make_plan(program, {.ptd = {{path("m.ptd")}}});
  ASSERT_TRUE(plan) << plan.error().str();
  auto memory = write_pte_bytes(program, *plan, {.ptd = {{path("m.ptd")}}}, path("m.pte"));
  ASSERT_TRUE(memory) << memory.error().str();
  EXPECT_TRUE(memory->pte == depute::bytes(bytes("m.pte")));
  ASSERT_EQ(memory->external.size(), 2);
  for (const char* name : {"m.ptd", "m_lora.ptd"}) {
    EXPECT_TRUE(memory->external.at(path(name)) == depute::bytes(bytes(name))) << name;
  }
}

// Two programs with one .ptd file. Equal constants have one name there, and others two.
TEST_F(WritePtd, ProgramsShareAFile) {
  const auto with = [](const std::string& values) {
    return parse(fmt::format(R"(program
data "same": f32[4] = [1.0, 2.0, 3.0, 4.0]
data "w": f32[4] = {}

method forward(%x: f32[4], %a: f32[4] = constant "same", %b: f32[4] = constant "w") {{
  %y: f32[4] = aten.add.Tensor(%x, %a)
  %z: f32[4] = aten.mul.Tensor(%y, %b)
  return %z
}}
)",
                             values));
  };
  const Program first = with("[1.0, 1.0, 1.0, 1.0]");
  const Program second = with("[2.0, 2.0, 2.0, 2.0]");
  const WriteOptions options{.ptd = {{path("m.ptd")}}};
  const auto first_plan = make_plan(first, options);
  const auto second_plan = make_plan(second, options);
  ASSERT_TRUE(first_plan && second_plan);
  const ProgramToWrite programs[] = {{first, *first_plan, path("m.pte"), options},
                                     {second, *second_plan, path("n.pte"), options}};
  const auto written = write_ptes_to(OutputFile::open, programs);
  ASSERT_TRUE(written) << written.error().str();
  std::vector<std::string> keys;
  for (const PtdData& data : ptd().data) keys.push_back(data.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"same", "w", "w@2"}));
  for (const WriteSummary& summary : *written) {
    ASSERT_EQ(summary.external_files.size(), 1);
    EXPECT_EQ(summary.external_files[0].path, path("m.ptd"));
  }
  EXPECT_NE(bytes("n.pte").find("w@2"), std::string::npos);
  EXPECT_EQ(bytes("m.pte").find("w@2"), std::string::npos);
}

TEST_F(WritePtd, DamagedFilesAreRead) {
  ASSERT_TRUE(write(parse(tagged)));
  const std::string whole = bytes("m.ptd");
  const std::size_t end = std::min<std::size_t>(whole.size(), 700);
  int failures = 0;
  for (std::size_t i = 0; i < end; ++i) {
    for (unsigned char change : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ change);
      failures += !read_ptd(std::as_bytes(std::span(damaged)), "damaged");
    }
    failures += !read_ptd(std::as_bytes(std::span(whole)).first(i), "cut");
  }
  EXPECT_GT(failures, static_cast<int>(end));
}

TEST_F(WritePtd, InitialValuesOfStateHaveTheirOwnSegment) {
  ASSERT_TRUE(write(parse(R"(program
data "a": f32[4] = [1.0, 2.0, 3.0, 4.0]
data "b": f32[2, 2]{strides=[1, 2]} = [5.0, 6.0, 7.0, 8.0]
data "z": f32[4] = zeros
data "w": f32[4] = [1.0, 2.0, 3.0, 4.0]

method forward(%a: f32[4] = buffer "a", %b: f32[2, 2] = buffer "b", %z: f32[4] = buffer "z", %w: f32[4] = param "w", %x: f32[4], %y: f32[2, 2]) {
  store buffer "a" = %x
  store buffer "b" = %y
  store buffer "z" = %w
  return
}
)"),
                    false));
  PteContents file = pte();
  ASSERT_EQ(file.mutable_offsets.size(), 3);  // the first is reserved; zeros have none
  auto initial = [&](std::size_t number) {
    const PteSegment& segment = file.segments[file.mutable_segment];
    EXPECT_LE(file.mutable_offsets[number] + 16, segment.size);
    std::string text =
        bytes("m.pte").substr(file.segment_base + segment.offset + file.mutable_offsets[number], 16);
    std::vector<float> values(4);
    std::memcpy(values.data(), text.data(), 16);
    return values;
  };
  std::vector<std::vector<float>> expected = {{1, 2, 3, 4}, {5, 7, 6, 8}};
  for (const PlanTensor& tensor : file.methods[0].tensors) {
    if (tensor.memory_id != 2) continue;
    if (tensor.name == "z") {
      EXPECT_EQ(tensor.constant, 0);
    } else {
      EXPECT_EQ(initial(tensor.constant), expected[std::string("ab").find(tensor.name)]);
    }
  }
}

}  // namespace
}  // namespace depute
