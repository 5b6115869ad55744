// The files that the backend writes, and its reader, also on damaged bytes. tests/arm/test_vgf_writer.py compares files with
// those of Arm's converter.
#include "backends/vgf/write_vgf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/tosa/tosa_backend.h"
#include "backends/vgf/constants.h"
#include "backends/vgf/describe_module.h"
#include "backends/vgf/spirv.h"
#include "backends/vgf/write_module.h"
#include "tests/unit/parse.h"

namespace depute::vgf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tosa::DType;

// Operators with attributes of several kinds, weights in the module and behind it, and one value twice.
tosa::TosaGraph small_graph() {
  const Program program = parse(R"(program
data "w": f32[4, 2, 2, 2] = random(1)
data "b": f32[4] = random(2)
data "same": f32[4] = random(2)
method forward(%w: f32[4, 2, 2, 2] = param "w", %b: f32[4] = param "b", %same: f32[4] = param "same", %x: f32[1, 2, 4, 4]) {
  %conv: f32[1, 4, 3, 3] = aten.convolution.default(%x, %w, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) #1
  %relu: f32[1, 4, 3, 3] = aten.relu.default(%conv) #2
  %pool: f32[1, 4, 1, 1] = aten.max_pool2d.default(%relu, [2, 2]) #3
  %flat: f32[4] = aten.view.default(%pool, [4]) #4
  %sum: f32[4] = aten.add.Tensor(%flat, %same) #5
  %is: bool[4] = aten.gt.Scalar(%sum, 0.5) #6
  return %sum, %is
}
)");
  return must(tosa::translate(program));
}

std::vector<std::byte> bytes_with(std::vector<std::byte> bytes, std::size_t at, unsigned value) {
  bytes[at] = static_cast<std::byte>(value);
  return bytes;
}

TEST(WriteVgf, IsReadBack) {
  const std::string text = must(describe_vgf(write_vgf(small_graph())));
  for (const char* part :
       {"VGF 0.4.0\n", "resource 0: constant f32[4, 2, 2, 2]\n", "resource 1: input f32[1, 2, 4, 4]\n",
        "resource 2: output f32[4]\n", "resource 3: output bool[4]\n", ": f32[1, 2, 4, 4] = input 0\n",
        "CONV2D(", " pad zeros i32[4] stride [1, 1] dilation [1, 1] accumulator 3 local_bound false\n",
        " min 0 max inf nan 1\n", " kernel [2, 2] stride [2, 2] ", ": bool[4] = GREATER(", "output 1 = %"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(WriteVgf, PartsFillTheFile) {
  const std::vector<std::byte> file = write_vgf(small_graph());
  std::uint64_t end = 0;
  std::size_t constants = 0;
  for (const PayloadPart& part : must(layout_of_vgf(file)).parts) {
    EXPECT_EQ(part.offset, end);
    end = part.offset + part.bytes;
    if (part.kind == PayloadPart::Kind::Constant) ++constants;
  }
  EXPECT_EQ(end, file.size());
  EXPECT_EQ(constants, 1);
}

TEST(WriteVgf, EqualConstantsAreDeclaredOnce) {
  const tosa::TosaGraph graph = small_graph();
  const UsedConstants used = find_constants(graph);
  std::size_t of_four_floats = 0;
  for (const UsedConstant& constant : used.constants) {
    const tosa::TosaTensor& tensor = graph.tensors[constant.tensor];
    if (tensor.dtype == DType::F32 && tensor.shape == tosa::Shape{4}) ++of_four_floats;
  }
  EXPECT_EQ(of_four_floats, 1);
}

// Appends elements of a constant with these bytes.
std::vector<std::byte> stored(DType dtype, std::int64_t count, std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes, file;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  tosa::TosaTensor tensor;
  tensor.dtype = dtype;
  tensor.shape = {count};
  append_elements(file, bytes, tensor);
  EXPECT_EQ(file.size(), bytes_in_file(tensor));
  return file;
}

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(WriteVgf, SomeElementsAreWider) {
  EXPECT_EQ(stored(DType::I8, 2, {1, 0xff}), bytes_of({1, 0xff}));
  EXPECT_EQ(stored(DType::Bool, 3, {0, 1, 2}), bytes_of({0, 0xff, 0xff}));
  EXPECT_EQ(stored(DType::I4, 3, {0x87, 0x0f}), bytes_of({7, 0xf8, 0xff}));
  EXPECT_EQ(stored(DType::I48, 2, {1, 2, 3, 4, 5, 6, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff}),
            bytes_of({1, 2, 3, 4, 5, 6, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
}

TEST(Spirv, TextsEndWithZero) {
  spirv::Words words;
  spirv::add(words, spirv::Opcode::Name, {7}, "abcd");
  EXPECT_THAT(words, ElementsAre(0x00040005, 7, 0x64636261, 0));
}

// A graph with one argument, which is the result, has no instruction of TOSA's.
TEST(WriteModule, WithoutOperators) {
  tosa::TosaGraph graph;
  graph.tensors = {{.dtype = DType::F16, .shape = {2}, .name = "x"},
                   {.dtype = DType::F16, .shape = {2}, .name = "y"}};
  graph.ops = {{.op = tosa::Op::Identity, .inputs = {0}, .output = 1}};
  graph.inputs = {0};
  graph.outputs = {1};
  const spirv::Words words = write_module(graph, find_constants(graph));
  EXPECT_EQ(must(describe_module(words)), "%13: f16[2] = input 0\noutput 0 = %13\n");
}

TEST(DescribeVgf, FailsOnTruncatedBytes) {
  const std::vector<std::byte> file = write_vgf(small_graph());
  for (std::size_t size = 0; size < file.size(); ++size) {
    // A copy of its own, so that a sanitizer sees what is read behind its end.
    const std::vector<std::byte> part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    (void)describe_vgf(part);
    EXPECT_FALSE(layout_of_vgf(part)) << size;
  }
  EXPECT_FALSE(describe_vgf(std::span(file).first(file.size() / 2)));
  EXPECT_FALSE(describe_vgf({}));
}

TEST(DescribeVgf, SurvivesEveryChangedByte) {
  const std::vector<std::byte> file = write_vgf(small_graph());
  std::size_t failures = 0;
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const unsigned value : {0x00U, 0x01U, 0x7fU, 0x80U, 0xffU}) {
      const std::vector<std::byte> changed = bytes_with(file, at, value);
      if (!describe_vgf(changed)) ++failures;
      (void)layout_of_vgf(changed);
    }
  }
  EXPECT_GT(failures, 0U);
}

// Lists of lists, each twice as long as the one before it.
TEST(DescribeModule, TextsStayShort) {
  spirv::Words words = {spirv::magic, 0, 0, 0, 0};
  for (std::uint32_t id = 1; id < 60; ++id)
    spirv::add(words, spirv::Opcode::ConstantComposite, {1, id + 1, id, id, id, id});
  for (std::uint32_t id = 60; id < 1000; ++id)
    spirv::add(words, spirv::Opcode::TypeTensor, {id + 1, id, 0, 0});
  spirv::add(words, spirv::Opcode::GraphSetOutput, {60, 0});
  spirv::add(words, spirv::Opcode::GraphInput, {1000, 2000, 0});
  EXPECT_LT(must(describe_module(words)).size(), 1000);
}

}  // namespace
}  // namespace depute::vgf
