// Bundled programs: the same bytes by all ways, what is read is what was written, and damaged ones are refused.
#include "depute/tools/bundle.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "bundled_program_generated.h"
#include "depute/tools/byte_ledger.h"
#include "read/pte.h"
#include "tests/unit/parse.h"
#include "tools/bundle/bundle_text.h"
#include "tools/bundle/check_case.h"
#include "tools/bundle/program_part.h"

namespace depute {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Executable bundled_executable(std::string_view text, const WriteOptions& options = {}) {
  const Compiler compiler{Registry()};
  Result<Exported> exported = compiler.load(parse(text));
  EXPECT_TRUE(exported) << exported.error().str();
  Result<Delegated> lowered = compiler.lower(*std::move(exported));
  EXPECT_TRUE(lowered) << lowered.error().str();
  Result<Executable> executable = to_executorch(*std::move(lowered), options);
  EXPECT_TRUE(executable) << executable.error().str();
  return *std::move(executable);
}

constexpr std::string_view add_text = R"(program
dim s0 in [1, 4]
method forward(%x: f32[s0, 2], %y: f32[2]) {
  %add: f32[s0, 2] = aten.add.Tensor(%x, %y)
  return %add
}
)";

TestCase add_case(std::vector<float> x = {1, 2, 3, 4}, std::vector<RuntimeValue> expected = {}) {
  const auto rows = static_cast<std::int64_t>(x.size() / 2);
  return {.method = "forward",
          .inputs = {make_data<float>(ScalarType::F32, {rows, 2}, std::span<const float>(x)),
                     make_data<float>(ScalarType::F32, {2}, {10.0f, 20.0f})},
          .expected = std::move(expected)};
}

std::vector<float> floats_of(const RuntimeValue& value) {
  const auto bytes = std::get<TensorData>(value).contiguous();
  const auto view = bytes.dense_bytes();
  std::vector<float> numbers(view.size() / sizeof(float));
  std::memcpy(numbers.data(), view.data(), view.size());
  return numbers;
}

std::vector<std::byte> bundle_of(std::span<const TestCase> cases) {
  Result<PteFile> file = write_bundle(bundled_executable(add_text), cases);
  EXPECT_TRUE(file) << file.error().str();
  return file->pte;
}

TEST(Bundle, HasTheBytesOfTheProgramAlone) {
  const Executable executable = bundled_executable(add_text, {.segment_alignment = 4096});
  const std::vector<TestCase> cases = {add_case()};
  const PteFile alone = *write(executable, "m.pte");
  const PteFile file = *write_bundle(executable, cases, "m.bpte");
  EXPECT_EQ(file.summary.file_bytes, file.pte.size());
  const std::span<const std::byte> program = *program_part(file.pte, "m.bpte");
  EXPECT_TRUE(std::ranges::equal(program, alone.pte));
  EXPECT_EQ((file.pte.size() - program.size()) % 4096, 0u);
  EXPECT_EQ(program.data() + program.size(), file.pte.data() + file.pte.size());

  const std::string path = testing::TempDir() + "/m.bpte";
  ASSERT_TRUE(write_bundle_file(executable, cases, path));
  std::ifstream stream(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(content, std::string(reinterpret_cast<const char*>(file.pte.data()), file.pte.size()));
}

TEST(Bundle, OfWrittenBytesIsTheSame) {
  const Executable executable = bundled_executable(add_text);
  const std::vector<TestCase> cases = {add_case(), add_case({5, 6})};
  EXPECT_EQ(*bundle_program(write(executable)->pte, cases), write_bundle(executable, cases)->pte);
}

TEST(Bundle, IsReadAsItWasWritten) {
  const std::vector<TestCase> cases = *with_expected_outputs(
      bundled_executable(add_text),
      {add_case(), add_case({5, 6}, {make_data<float>(ScalarType::F32, {1, 2}, {0.0f, 1.0f})})});
  const std::vector<std::byte> bytes = bundle_of(cases);
  const Bundle bundle = *read_bundle(bytes, "m.bpte");
  ASSERT_EQ(bundle.cases.size(), 2u);
  EXPECT_THAT(bundle.methods, ElementsAre("forward"));
  EXPECT_THAT(floats_of(bundle.cases[0].inputs[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(floats_of(bundle.cases[0].expected[0]), ElementsAre(11, 22, 13, 24));
  EXPECT_THAT(floats_of(bundle.cases[1].expected[0]), ElementsAre(0, 1));
  EXPECT_THAT(bundle_text(bundle, bytes.size()),
              HasSubstr("test case 1 of forward\n  input 0: f32[1, 2], mean 5.5"));
}

TEST(Bundle, LedgerHasEachByteOnce) {
  const std::vector<TestCase> cases = {add_case(), add_case({5, 6})};
  const std::vector<std::byte> bytes = bundle_of(cases);
  const ByteLedger ledger = *byte_ledger(bytes, "m.bpte", Registry());
  EXPECT_EQ(ledger.format, "bpte");
  std::uint64_t end = 0;
  std::uint64_t of_cases = 0;
  for (const LedgerEntry& entry : ledger.entries) {
    EXPECT_EQ(entry.offset, end);
    end += entry.bytes;
    EXPECT_NE(entry.kind, LedgerKind::Unclaimed);
    if (entry.kind == LedgerKind::BundledCase) of_cases += entry.bytes;
  }
  EXPECT_EQ(end, bytes.size());
  EXPECT_GE(of_cases, (4 + 2 + 2 + 2) * sizeof(float));
}

std::string refusal_of(const TestCase& test) {
  const Result<PteFile> file = write_bundle(bundled_executable(add_text), std::vector{test});
  return file ? "" : file.error().str() + file.error().hint;
}

TEST(Bundle, CasesThatDoNotFitAreRefused) {
  EXPECT_EQ(refusal_of(add_case()), "");
  EXPECT_THAT(refusal_of(add_case(std::vector<float>(10))), HasSubstr("input 0 is f32[5, 2], not f32[4, 2]"));
  EXPECT_THAT(refusal_of(add_case(std::vector<float>(10))), HasSubstr("forward("));
  TestCase test = add_case();
  test.inputs.pop_back();
  EXPECT_THAT(refusal_of(test), HasSubstr("1 value for 2 inputs"));
  test.inputs.emplace_back();
  EXPECT_THAT(refusal_of(test), HasSubstr("input 1 has no elements"));
  EXPECT_THAT(refusal_of(add_case({1, 2}, {std::int64_t{3}})), HasSubstr("output 0 is i64"));
  test.method = "decode";
  EXPECT_THAT(refusal_of(test), HasSubstr("the method decode, which the program lacks"));
}

TEST(Bundle, DamageIsToldWithItsPlace) {
  const std::vector<TestCase> cases = {add_case()};
  const std::vector<std::byte> good = bundle_of(cases);
  EXPECT_FALSE(read_bundle(std::span(good).first(good.size() - 1), "m"));
  EXPECT_THAT(read_bundle(std::span(good).first(6), "m").error().str(), HasSubstr("not a bundled program"));
  std::size_t refused = 0;
  const std::size_t head = good.size() - program_part(good, "m")->size();
  for (std::size_t at = 8; at < head; ++at) {
    std::vector<std::byte> bad = good;
    bad[at] ^= std::byte{0x7f};
    const Result<Bundle> bundle = read_bundle(bad, "m");
    if (bundle) (void)bundle_text(*bundle, bad.size());
    refused += bundle ? 0U : 1U;
  }
  EXPECT_GT(refused, 20u);
}

using ValueOffset = flatbuffers::Offset<bp08::Value>;

// A bundle of one case with these inputs, which no writer checked.
Result<Bundle> read_with_inputs(flatbuffers::FlatBufferBuilder& builder,
                                const std::vector<ValueOffset>& inputs) {
  const auto values = builder.CreateVector(inputs);
  const auto cases = builder.CreateVector(std::vector{bp08::CreateTestCase(builder, values)});
  const auto suites =
      builder.CreateVector(std::vector{bp08::CreateTestSuite(builder, builder.CreateString("f"), cases)});
  const auto program = builder.CreateVector(std::vector<std::uint8_t>(64));
  bp08::FinishBundledProgramBuffer(builder, bp08::CreateBundledProgram(builder, 2, suites, program));
  return read_bundle(std::as_bytes(builder.GetBufferSpan()), "m");
}

TEST(Bundle, ValuesWithATypeAndNoContentAreRefused) {
  using enum bp08::Content;
  for (const bp08::Content type : {Tensor, Int, Bool, Double}) {
    flatbuffers::FlatBufferBuilder builder;
    const Result<Bundle> bundle = read_with_inputs(builder, {bp08::CreateValue(builder, type, 0)});
    ASSERT_FALSE(bundle);
    EXPECT_THAT(bundle.error().str(), HasSubstr("test_cases[0].inputs[0]: has no content"));
  }
}

// A small file whose cases all refer to the same tensor would be much larger in memory.
TEST(Bundle, SharedTablesAreNoWayToAskForMuch) {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<std::uint8_t> elements(1 << 16);
  const auto data = builder.CreateVector(elements);
  const auto sizes = builder.CreateVector(std::vector<std::int32_t>{1 << 16});
  const auto order = builder.CreateVector(std::vector<std::uint8_t>{0});
  const auto tensor = bp08::CreateTensor(builder, 0, sizes, data, order);
  const auto value = bp08::CreateValue(builder, bp08::Content::Tensor, tensor.Union());
  const Result<Bundle> bundle = read_with_inputs(builder, std::vector(1000, value));
  ASSERT_FALSE(bundle);
  EXPECT_THAT(bundle.error().str(), HasSubstr("the test cases exceed the file's size"));
}

// --- the rule of ExecuTorch's verification

bool is_accepted(float expected, float result, const CaseTolerance& tolerance = {}) {
  const TestCase test{.expected = {make_data<float>(ScalarType::F32, {1}, {expected})}};
  const std::vector<RuntimeValue> results = {make_data<float>(ScalarType::F32, {1}, {result})};
  return check_case(test, results, tolerance)[0].is_right;
}

TEST(CheckCase, AllowsATolerancePerElement) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(is_accepted(100, 100.0009f));
  EXPECT_FALSE(is_accepted(100, 100.002f));
  EXPECT_FALSE(is_accepted(0, 1e-7f));
  EXPECT_TRUE(is_accepted(0, 1e-7f, {.rtol = 0, .atol = 1e-6}));
  EXPECT_TRUE(is_accepted(nan, nan));
  EXPECT_TRUE(is_accepted(infinity, infinity));
  EXPECT_FALSE(is_accepted(infinity, -infinity));
  EXPECT_FALSE(is_accepted(infinity, 1));
  EXPECT_FALSE(is_accepted(1, infinity));
  EXPECT_FALSE(is_accepted(nan, 1));
}

TEST(CheckCase, OtherTypesAreEqualOrWrong) {
  const TestCase test{.expected = {make_data<std::int64_t>(ScalarType::I64, {2}, {1, 2})}};
  const auto verdict = [&](RuntimeValue result) {
    const std::vector<RuntimeValue> results = {std::move(result)};
    return check_case(test, results, {.rtol = 1, .atol = 1})[0];
  };
  EXPECT_TRUE(verdict(make_data<std::int64_t>(ScalarType::I64, {2}, {1, 2})).is_right);
  EXPECT_FALSE(verdict(make_data<std::int64_t>(ScalarType::I64, {2}, {1, 3})).is_right);
  EXPECT_THAT(verdict(make_data<float>(ScalarType::F32, {2}, {1.0f, 2.0f})).note, HasSubstr("instead of"));
  EXPECT_FALSE(verdict(make_data<std::int64_t>(ScalarType::I64, {1, 2}, {1, 2})).is_right);
  EXPECT_FALSE(check_case(test, {}, {})[0].is_right);
}

}  // namespace
}  // namespace depute
