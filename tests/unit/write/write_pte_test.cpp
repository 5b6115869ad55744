#include "write/write_pte.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "depute/program/text.h"
#include "plan/plan_text.h"
#include "plan/value_pool.h"
#include "read/pte.h"
#include "tests/unit/colliding_bytes.h"
#include "write/program_flatbuffer.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

// A folder of its own that goes away with the test.
class WritePte : public testing::Test {
 protected:
  WritePte() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        fs::temp_directory_path() / ("depute_write_" + std::string(test->name()) + std::to_string(getpid()));
    fs::create_directory(folder_);
  }
  ~WritePte() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "out.pte") const { return folder_ / name; }

  static Program parse(const std::string& text) {
    auto program = parse_program(text);
    EXPECT_TRUE(program) << program.error().str();
    return std::move(*program);
  }

  Result<WriteSummary> write(const Program& program, const std::string& name = "out.pte", int jobs = 1) {
    auto plan = make_plan(program);
    EXPECT_TRUE(plan) << plan.error().str();
    return write_pte(program, *plan, path(name), {.jobs = jobs});
  }

  std::string bytes(const std::string& name = "out.pte") const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  PteContents read(const std::string& name = "out.pte") const {
    std::string file = bytes(name);
    auto pte = read_pte(std::as_bytes(std::span(file)), name);
    EXPECT_TRUE(pte) << pte.error().str();
    return std::move(*pte);
  }

  // The bytes of a segment in the file.
  std::string segment(const PteContents& pte, std::size_t index) const {
    return bytes().substr(pte.segment_base + pte.segments[index].offset, pte.segments[index].size);
  }

  fs::path folder_;
};

constexpr const char* small = R"(program
data "w": f32[3] = [1.0, 2.0, 3.0]
data "v": f32[2] = [4.0, 5.0]
dim s0 in [1, 8]

delegate d0 backend "SomeBackend" {
  spec "mode" = "fast"
  blob "blob of d0"
  data "key" align 4096 = "named bytes"
}
delegate d1 backend "SomeBackend" {
  blob "blob of d0"
  data "key" = "named bytes"
}
delegate d2 backend "Empty" {
  blob ""
}

method forward(%w: f32[3] = param "w", %x: f32[s0, 3], %i: i64[2], %flag: bool = value true) {
  in_spec "in"
  out_spec "out"
  %a: f32[s0, 3] = aten.add.Tensor(%x, %w, alpha=2)
  %b: f32[s0, 3] = delegate.call(@d0, %a)
  %c: f32[s0, 3] = delegate.call(@d1, %b)
  %d: f32[s0, 3] = delegate.call(@d2, %c)
  %e: f32[2, 3] = aten.index.Tensor(%d, [%i])
  %f: f32[2, 6] = aten.cat.default([%e, %e], 1)
  %g: f32[2, 6] = aten.gelu.default(%f, approximate="tanh")
  %n: sym_int[s0] = aten.sym_size.int(%x, 0)
  return %g, %n, 1.5
}

method other(%v: f32[2] = param "v", %x: f32[2]) {
  %y: f32[2] = aten.mul.Tensor(%x, %v)
  return %y
}
)";

TEST_F(WritePte, WhatIsWrittenReadsBack) {
  Program program = parse(small);
  auto plan = make_plan(program);
  ASSERT_TRUE(plan) << plan.error().str();
  auto summary = write(program);
  ASSERT_TRUE(summary) << summary.error().str();
  EXPECT_EQ(summary->file_bytes, bytes().size());
  EXPECT_TRUE(summary->warnings.empty());
  PteContents pte = read();
  ASSERT_EQ(pte.methods.size(), plan->methods.size());
  for (std::size_t i = 0; i < pte.methods.size(); ++i) {
    EXPECT_EQ(plan_text(pte.methods[i]), plan_text(plan->methods[i]));
    EXPECT_EQ(pte.methods[i].in_spec, plan->methods[i].in_spec);
    EXPECT_EQ(pte.methods[i].out_spec, plan->methods[i].out_spec);
  }
  EXPECT_EQ(pte.methods[0].delegates[0].compile_specs, plan->methods[0].delegates[0].compile_specs);
}

TEST_F(WritePte, DevicesOfMemoryAndTensorsReadBack) {
  Program program = parse(small);
  auto plan = make_plan(program);
  ASSERT_TRUE(plan) << plan.error().str();
  ExecutionPlan& method = plan->methods[1];
  method.memory_devices[1] = {.type = 1, .index = 2};
  method.tensors.back().device = {.type = 1, .index = 2};
  ASSERT_TRUE(write_pte(program, *plan, path("out.pte"), {}));
  const PteContents pte = read();
  EXPECT_EQ(pte.methods[1].memory_devices, method.memory_devices);
  EXPECT_EQ(pte.methods[1].tensors.back().device, method.tensors.back().device);
  EXPECT_EQ(plan_text(pte.methods[1]), plan_text(method));
  EXPECT_THAT(plan_text(method), ::testing::HasSubstr("bytes on cuda:2\n"));
  EXPECT_THAT(plan_text(method), ::testing::HasSubstr("f32[2] on cuda:2 = memory 1"));
  EXPECT_TRUE(pte.methods[0].memory_devices.empty());
}

TEST_F(WritePte, SegmentsHoldTheBytes) {
  ASSERT_TRUE(write(parse(small)));
  PteContents pte = read();
  ASSERT_EQ(pte.segments.size(), 4);  // constants, d0, d1, "key"
  EXPECT_EQ(pte.constant_offsets, (std::vector<std::uint64_t>{0, 0, 16}));
  float constants[6] = {};
  std::memcpy(constants, segment(pte, 0).data(), 24);
  EXPECT_EQ(constants[2], 3.0F);
  EXPECT_EQ(constants[4], 4.0F);
  EXPECT_EQ(segment(pte, 1), "blob of d0");
  ASSERT_EQ(pte.named_data.size(), 1);
  EXPECT_EQ(pte.named_data[0].key, "key");
  EXPECT_EQ(segment(pte, pte.named_data[0].segment), "named bytes");
  EXPECT_EQ(pte.segment_base % 128, 0);
  EXPECT_EQ((pte.segment_base + pte.segments[3].offset) % 4096, 0);
}

TEST_F(WritePte, EqualBlobsAreStoredOnce) {
  ASSERT_TRUE(write(parse(small)));
  PteContents pte = read();
  EXPECT_EQ(pte.segments[1].offset, pte.segments[2].offset);
  std::string file = bytes();
  EXPECT_EQ(file.find("blob of d0"), file.rfind("blob of d0"));
}

TEST_F(WritePte, EmptyBlobsStayInTheFlatbuffer) {
  ASSERT_TRUE(write(parse(small)));
  PteContents pte = read();
  ASSERT_EQ(pte.inline_blobs.size(), 1U);
  EXPECT_EQ(pte.inline_blobs[0].size, 0U);
  EXPECT_TRUE(pte.methods[0].delegates[2].is_inline);
}

TEST_F(WritePte, ProgramWithoutDataHasNoSegments) {
  ASSERT_TRUE(write(parse("program\nmethod forward(%x: f32[2]) {\n  return %x\n}\n")));
  PteContents pte = read();
  EXPECT_EQ(pte.segment_base, 0);
  EXPECT_EQ(pte.constant_offsets, std::vector<std::uint64_t>{0});
  EXPECT_EQ(pte.flatbuffer_bytes, pte.file_bytes);
}

// Constants of equal bytes in different storages, with a transposed one made on demand among them.
TEST_F(WritePte, EqualConstantsAreStoredOnce) {
  Program program = parse(R"(program
data "a": f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
data "b": f32[4] = [1.0, 2.0, 3.0, 4.0]
data "c": f32[2, 2] = [1.0, 3.0, 2.0, 4.0]
data "t": f32[2, 2]{strides=[1, 2]} = view("c")
data "z": f32[4] = zeros

method forward(%a: f32[2, 2] = param "a", %b: f32[4] = param "b", %c: f32[2, 2] = param "c", %t: f32[2, 2] = param "t", %z: f32[4] = param "z") {
  return %a, %b, %c, %t, %z
}
)");
  auto summary = write(program);
  ASSERT_TRUE(summary) << summary.error().str();
  PteContents pte = read();
  const auto& offsets = pte.constant_offsets;
  ASSERT_EQ(offsets.size(), 6);
  EXPECT_EQ(offsets[1], offsets[2]);
  EXPECT_EQ(offsets[1], offsets[4]);
  EXPECT_NE(offsets[1], offsets[3]);
  EXPECT_NE(offsets[1], offsets[5]);
  EXPECT_EQ(summary->constant_bytes, 48);
}

std::shared_ptr<const Storage> made(std::size_t size, std::byte fill, int* count) {
  return Storage::lazy(size, [size, fill, count] {
    if (count != nullptr) ++*count;
    return std::vector<std::byte>(size, fill);
  });
}

Delegate& add_delegate(Program& program, const std::string& name, std::shared_ptr<const Storage> bytes) {
  auto delegate = std::make_unique<Delegate>();
  delegate->name = Name(name);
  delegate->backend_id = "SomeBackend";
  delegate->processed_bytes = std::move(bytes);
  program.delegates.push_back(std::move(delegate));
  return *program.delegates.back();
}

// The bytes of "a" are made again, to be compared with those of "b".
TEST_F(WritePte, LazyBytesAreMadeOnceAndAgainForEachCopy) {
  Program program = parse("program\nmethod forward(%x: f32[2]) {\n  return %x\n}\n");
  int count = 0;
  Delegate& delegate = add_delegate(program, "d", Storage::owned({}));
  delegate.named_data = {{"a", made(10'000, std::byte{1}, &count), 16},
                         {"b", made(10'000, std::byte{1}, &count), 16},
                         {"c", made(10'000, std::byte{2}, &count), 16}};
  ASSERT_TRUE(write(program));
  EXPECT_EQ(count, 4);
  PteContents pte = read();
  EXPECT_EQ(pte.segments[1].offset, pte.segments[2].offset);
  EXPECT_NE(pte.segments[1].offset, pte.segments[3].offset);
}

TEST_F(WritePte, BytesThatDifferInTheMiddleAreNotShared) {
  Program program = parse("program\nmethod forward(%x: f32[2]) {\n  return %x\n}\n");
  std::vector<std::byte> bytes(10'000, std::byte{1});
  std::vector<std::byte> others = bytes;
  others[5'000] = std::byte{2};
  add_delegate(program, "d", Storage::owned({})).named_data = {
      {"a", Storage::owned(bytes), 16},
      {"b", Storage::owned(others), 16},
      {"c", Storage::owned(bytes), 16},
      {"d", Storage::owned({bytes.begin(), bytes.end() - 1}), 16}};
  ASSERT_TRUE(write(program));
  PteContents pte = read();
  EXPECT_EQ(pte.segments[1].offset, pte.segments[3].offset);
  EXPECT_NE(pte.segments[1].offset, pte.segments[2].offset);
  EXPECT_NE(pte.segments[1].offset, pte.segments[4].offset);
}

std::shared_ptr<const Storage> lazy(const std::string& text) {
  return Storage::lazy(text.size(), [text] { return bytes(text); });
}

TEST_F(WritePte, BytesThatHaveOnlyTheHashInCommonAreNotShared) {
  const auto [first, second] = colliding_bytes();
  for (const auto& make : {storage_of, +[](std::string_view text) { return lazy(std::string(text)); }}) {
    Program program = parse("program\nmethod forward(%x: f32[2]) {\n  return %x\n}\n");
    add_delegate(program, "d", Storage::owned({})).named_data = {
        {"a", make(first), 16}, {"b", make(second), 16}, {"c", make(second), 16}};
    ASSERT_TRUE(write(program));
    PteContents pte = read();
    EXPECT_EQ(segment(pte, 1), first);
    EXPECT_EQ(segment(pte, 2), second);
    EXPECT_EQ(pte.segments[2].offset, pte.segments[3].offset);
  }
}

TEST_F(WritePte, DelegatesThatHaveOnlyTheHashInCommonAreNotShared) {
  const auto [first, second] = colliding_bytes();
  for (const bool is_inline : {false, true}) {
    Program program = parse(small);
    program.delegates[0]->processed_bytes = storage_of(first);
    program.delegates[1]->processed_bytes = storage_of(second);
    program.delegates[0]->compile_specs = program.delegates[1]->compile_specs;
    program.delegates[0]->named_data = program.delegates[1]->named_data = {};
    for (auto& delegate : program.delegates) delegate->inline_bytes = is_inline;
    ASSERT_TRUE(write(program));
    EXPECT_EQ(read().methods[0].delegates.size(), 3U);
    EXPECT_NE(bytes().find(first), std::string::npos);
    EXPECT_NE(bytes().find(second), std::string::npos);
  }
}

TEST_F(WritePte, TextsThatHaveOnlyTheHashInCommonAreNotShared) {
  const auto [first, second] = colliding_bytes();
  ExecutionPlan plan;
  ValuePool pool(plan);
  EXPECT_NE(pool.text(first), pool.text(second));
  EXPECT_EQ(pool.text(first), pool.text(first));
}

TEST_F(WritePte, AConstantAndADelegateShareBytes) {
  std::string numbers = "[0.5";
  for (int i = 1; i < 2048; ++i) numbers += ", 0.5";
  Program program = parse("program\ndata \"w\": f32[2048] = " + numbers +
                          "]\nmethod forward(%w: f32[2048] = param \"w\") {\n  return %w\n}\n");
  std::vector<std::byte> same(program.data.begin()->second.dense_bytes().begin(),
                              program.data.begin()->second.dense_bytes().end());
  add_delegate(program, "d", Storage::owned({})).named_data = {{"w", Storage::owned(same), 16}};
  ASSERT_TRUE(write(program));
  PteContents pte = read();
  EXPECT_EQ(pte.segments[1].offset, 0);
  EXPECT_EQ(pte.segments[1].size, 8192);
  EXPECT_LT(bytes().size(), 2 * 8192);
}

TEST_F(WritePte, BytesDoNotDependOnJobs) {
  Program program = parse(small);
  Delegate& delegate = add_delegate(program, "many", Storage::owned({}));
  for (int i = 0; i < 200; ++i) {
    delegate.named_data.push_back(
        {"key" + std::to_string(i), made(1000 + i % 3, static_cast<std::byte>(i % 7), nullptr), 16});
  }
  ASSERT_TRUE(write(program, "one.pte", 1));
  ASSERT_TRUE(write(program, "four.pte", 4));
  EXPECT_EQ(bytes("one.pte"), bytes("four.pte"));
}

TEST_F(WritePte, MemoryGetsTheBytesOfTheFile) {
  Program program = parse(small);
  auto plan = make_plan(program);
  ASSERT_TRUE(plan) << plan.error().str();
  ASSERT_TRUE(write(program));
  auto memory = write_pte_bytes(program, *plan);
  ASSERT_TRUE(memory) << memory.error().str();
  EXPECT_TRUE(memory->pte == depute::bytes(bytes()));
  EXPECT_TRUE(memory->external.empty());
  EXPECT_EQ(memory->summary.file_bytes, memory->pte.size());
}

// How often `text` lies in the file, with the first place's offset.
std::pair<int, std::size_t> places(const std::string& file, const std::string& text) {
  int count = 0;
  std::size_t first = file.find(text);
  for (std::size_t at = first; at != std::string::npos; at = file.find(text, at + 1)) ++count;
  return {count, first};
}

TEST_F(WritePte, DelegatesThatAreReadLaterLieInTheFlatbuffer) {
  Program program = parse(small);
  program.delegates[0]->inline_bytes = true;
  ASSERT_TRUE(write(program));
  PteContents pte = read();
  std::vector<bool> is_inline;
  for (const PlanDelegate& delegate : pte.methods[0].delegates) is_inline.push_back(delegate.is_inline);
  EXPECT_THAT(is_inline, ::testing::ElementsAre(true, false, true));  // the last one has no bytes
  const auto [count, offset] = places(bytes(), "blob of d0");
  EXPECT_EQ(count, 2);  // that of d1, which is equal, is a segment
  EXPECT_LT(offset, pte.flatbuffer_bytes);
}

TEST_F(WritePte, DelegatesMayLieInTheFlatbuffer) {
  Program program = parse(small);
  auto plan = make_plan(program);
  ASSERT_TRUE(plan) << plan.error().str();
  for (std::uint64_t alignment : {1, 16, 64, 4096}) {
    auto summary = write_pte(program, *plan, path(),
                             {.extract_delegate_segments = false, .delegate_alignment = alignment});
    ASSERT_TRUE(summary) << summary.error().str();
    PteContents pte = read();
    ASSERT_EQ(pte.inline_blobs.size(), 2U);  // d0 and d1 are equal; d2 has none
    EXPECT_EQ(pte.inline_blobs[1].size, 0U);
    const std::string file = bytes();
    const PlanDelegate& first = pte.methods[0].delegates[0];
    EXPECT_THAT(delegate_bytes(pte, first, std::as_bytes(std::span(file))),
                ::testing::ElementsAreArray(depute::bytes("blob of d0")));
    for (const PlanDelegate& delegate : pte.methods[0].delegates) EXPECT_TRUE(delegate.is_inline);
    EXPECT_EQ(pte.segments.size(), 2);  // constants and named data
    auto [count, offset] = places(bytes(), "blob of d0");
    EXPECT_EQ(count, 1);
    EXPECT_EQ(offset % std::max<std::uint64_t>(alignment, 16), 0) << alignment;
    EXPECT_LT(offset, pte.flatbuffer_bytes);
  }
}

TEST_F(WritePte, AlignmentsHoldInTheFile) {
  Program program = parse(small);
  auto plan = make_plan(program);
  ASSERT_TRUE(plan) << plan.error().str();
  for (auto [segment, delegate] : {std::pair{512, 16}, {16, 2048}, {1, 1}, {8192, 4096}}) {
    WriteOptions options;
    options.segment_alignment = static_cast<std::uint64_t>(segment);
    options.delegate_alignment = static_cast<std::uint64_t>(delegate);
    auto summary = write_pte(program, *plan, path(), options);
    ASSERT_TRUE(summary) << summary.error().str();
    PteContents pte = read();
    EXPECT_EQ(pte.segment_base % static_cast<std::uint64_t>(std::max(segment, 16)), 0);
    const PlanDelegate& first = pte.methods[0].delegates[0];
    std::uint64_t place = pte.segment_base + pte.segments[first.index].offset;
    EXPECT_EQ(place % static_cast<std::uint64_t>(std::max(segment, delegate)), 0) << segment << delegate;
    EXPECT_EQ(places(bytes(), "blob of d0"), (std::pair<int, std::size_t>{1, place}));
    std::uint64_t named = pte.segment_base + pte.segments[pte.named_data[0].segment].offset;
    EXPECT_EQ(named % 4096, 0);
  }
}

TEST_F(WritePte, OddAlignmentsAreRefused) {
  Program program = parse(small);
  auto plan = make_plan(program);
  ASSERT_TRUE(plan) << plan.error().str();
  for (std::uint64_t odd : {std::uint64_t{0}, std::uint64_t{48}, 2 * max_alignment}) {
    auto segment = write_pte(program, *plan, path(), {.segment_alignment = odd});
    auto delegate = write_pte(program, *plan, path(), {.delegate_alignment = odd});
    ASSERT_FALSE(segment);
    ASSERT_FALSE(delegate);
    EXPECT_EQ(segment.error().where, "segment_alignment");
    EXPECT_EQ(delegate.error().where, "delegate_alignment");
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(WritePte, OneKeyWithDifferentBytesIsRefused) {
  Program program = parse("program\nmethod forward(%x: f32[2]) {\n  return %x\n}\n");
  add_delegate(program, "d0", Storage::owned({})).named_data = {{"key", made(4, std::byte{1}, nullptr), 16}};
  add_delegate(program, "d1", Storage::owned({})).named_data = {{"key", made(4, std::byte{2}, nullptr), 16}};
  auto summary = write(program);
  ASSERT_FALSE(summary);
  EXPECT_NE(summary.error().message.find("\"key\""), std::string::npos) << summary.error().str();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(WritePte, AFailureLeavesTheOldFile) {
  std::ofstream(path()) << "old";
  Program program = parse("program\nmethod forward(%x: f32[2]) {\n  return %x\n}\n");
  auto plan = make_plan(program);
  EXPECT_FALSE(write_pte(program, *plan, path() + "/in_a_file.pte"));
  EXPECT_EQ(bytes(), "old");
}

TEST_F(WritePte, ManyTablesAreWarnedOf) {
  Plan plan;
  ExecutionPlan& method = plan.methods.emplace_back();
  method.name = "forward";
  method.memory_sizes = {0};
  method.values.assign(max_verified_tables / 2 + 1, EValue{.kind = EValue::Kind::Int});
  auto summary = write_pte(Program(), plan, path());
  ASSERT_TRUE(summary) << summary.error().str();
  EXPECT_EQ(summary->warnings.size(), 1);
  EXPECT_EQ(read().methods[0].values.size(), method.values.size());
}

// Large bytes that can be made in parts never are there as a whole, unless they are compared with others.
TEST_F(WritePte, LargeBytesAreMadeInParts) {
  constexpr std::size_t size = std::size_t{16} << 20, grain = 48;
  constexpr std::size_t rounded = size / grain * grain;
  std::size_t largest = 0, made = 0;
  auto parts = [&](std::size_t offset, std::size_t count) {
    largest = std::max(largest, count);
    made += count;
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>((offset + i) / grain % 251);
    return bytes;
  };
  const std::string elements = std::to_string(rounded);
  Program program =
      parse("program\ndata \"w\": i8[" + elements + "] = zeros\ndata \"v\": i8[" + elements +
            "] = zeros\nmethod forward(%w: i8[" + elements + "] = param \"w\", %v: i8[" + elements +
            "] = param \"v\") {\n  %y: i8[" + elements + "] = aten.mul.Tensor(%w, %v)\n  return %y\n}");
  program.data[Name("w")].storage = Storage::lazy_parts(rounded, grain, parts);
  ASSERT_TRUE(write(program));
  EXPECT_EQ(made, rounded);
  EXPECT_LE(largest, std::size_t{1} << 20);
  const PteContents pte = read();
  const std::string written = segment(pte, 0);
  ASSERT_GE(written.size(), rounded);
  const std::size_t start = written.find(std::string(grain, '\0') + '\1');
  ASSERT_NE(start, std::string::npos);
  for (std::size_t i = 0; i < rounded; i += 4097)
    ASSERT_EQ(static_cast<unsigned char>(written[start + i]), i / grain % 251) << i;

  program.data[Name("v")].storage = Storage::lazy_parts(rounded, grain, parts);
  ASSERT_TRUE(write(program, "twins.pte"));
  EXPECT_LT(bytes("twins.pte").size(), rounded + 4096) << "equal bytes are there once";
}

}  // namespace
}  // namespace depute
