// What the recorded cases do not show: which ops have kernels, what is refused, what is shared and what
// waits.
#include "depute/program/interpret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "depute/program/op.h"
#include "depute/program/text.h"
#include "kernels/kernel_call.h"

namespace depute {
namespace {

using ::testing::HasSubstr;

// Core ops that are functions of their arguments and still have no kernel, each with its reason.
const std::set<std::string_view> without_kernel = {
    "aten._cdist_forward.default",            // seen in no model
    "aten._embedding_bag.default",            // four results, of which most backends need one
    "aten._fft_c2r.default",                  // complex numbers
    "aten._fft_r2c.default",                  // complex numbers
    "aten._pdist_forward.default",            // seen in no model
    "aten.complex.default",                   // complex numbers
    "aten.col2im.default",                    // no type rule either
    "aten.grid_sampler_2d.default",           // three ways to interpolate, three to pad
    "aten.histc.default",                     // no type rule either
    "aten.repeat_interleave.Tensor",          // its size is known only when the program runs
    "aten.view_as_real_copy.default",         // complex numbers
    "torchao.choose_qparams_affine.default",  // computed by other ops
    "torchao.dequantize_affine.default",      // computed by other ops
    "torchao.quantize_affine.default",        // computed by other ops
};

// Of ExecuTorch's libraries beside the portable one. Those that quantize and dequantize constants are folded.
bool is_of_a_library(const OpDef& def) {
  return !def.out_name.starts_with("aten::") && def.out_name.find("::") != std::string::npos &&
         !has_kernel(def.name);
}

TEST(Kernels, AreThereForTheCoreOps) {
  for (const OpDef* def : all_ops()) {
    if (!def->is(OpFlag::Core) || !def->is_pure() || def->is(OpFlag::Symbolic)) continue;
    if (is_of_a_library(*def)) continue;
    EXPECT_NE(has_kernel(def->name), without_kernel.contains(def->name.str())) << def->schema;
  }
}

TEST(Kernels, AreForOpsOfTheTable) {
  for (auto family : {internal::pointwise_kernels, internal::activation_kernels, internal::view_kernels,
                      internal::memory_kernels, internal::combining_kernels, internal::creation_kernels,
                      internal::reduction_kernels, internal::row_kernels, internal::linear_algebra_kernels,
                      internal::convolution_kernels, internal::pooling_kernels, internal::norm_kernels,
                      internal::resize_kernels, internal::indexing_kernels, internal::quantized_kernels,
                      internal::symbolic_kernels}) {
    for (const internal::KernelLine& line : family()) EXPECT_TRUE(has_kernel(Name(line.op))) << line.op;
  }
}

// A program of one node whose operands are the program's data.
struct OneNode {
  Program program;
  Method* method = nullptr;

  explicit OneNode(std::string_view text) {
    auto parsed = parse_program(text);
    EXPECT_TRUE(parsed) << parsed.error().str();
    if (!parsed) return;
    program = std::move(*parsed);
    method = program.methods.front().get();
  }
  const Node& node() const { return *method->graph->first(); }
  Result<std::vector<RuntimeValue>> run() const {
    std::map<const Value*, RuntimeValue> contents;
    for (const Value* input : method->graph->inputs()) {
      if (const TensorData* data = constant_data(program, *method, *input)) contents[input] = *data;
    }
    return run_kernel(node(), [&](const Value& value) -> const RuntimeValue* {
      auto found = contents.find(&value);
      return found == contents.end() ? nullptr : &found->second;
    });
  }
};

const std::string data_text =
    "program\n"
    "data \"x\": f32[2, 3] = [1, 2, 3, 4, 5, 6]\n"
    "data \"i\": i64[2] = [0, 7]\n"
    "data \"n\": i64[2] = [1, 0]\n"
    "data \"e\": f32[0, 3] = []\n"
    "data \"h\": u64[2] = [1, 2]\n"
    "method forward(%x: f32[2, 3] = param \"x\", %i: i64[2] = param \"i\", %n: i64[2] = param \"n\", "
    "%e: f32[0, 3] = param \"e\", %h: u64[2] = param \"h\", %u: f32[2]) {\n  ";

struct Refused {
  std::string_view node;
  std::string_view reason;
};

class RefusedCalls : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedCalls, AreErrors) {
  OneNode call(data_text + std::string(GetParam().node) + "\n  return\n}\n");
  auto results = call.run();
  ASSERT_FALSE(results);
  EXPECT_THAT(results.error().str(), HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedCalls,
    ::testing::Values(
        Refused{"%r: f32[2] = mylib.op.default(%x)", "no reference kernel exists for this op"},
        Refused{"%r: f32[2] = aten.neg.default(%u)", "%u has no value"},
        Refused{"%r: i64[2] = aten.div.Tensor_mode(%i, %n, rounding_mode=\"floor\")", "by zero"},
        Refused{"%r: i64[2] = aten.remainder.Tensor(%i, %n)", "by zero"},
        Refused{"%r: f32[2, 3] = aten.index_select.default(%x, 0, %i)", "index 7 is out of range for size 2"},
        Refused{"%r: f32[2, 3] = aten.embedding.default(%x, %i)", "index 7 is out of range for size 2"},
        Refused{"%r: f32[2, 3] = aten.index.Tensor(%x, [%i])", "index 7 is out of range for size 2"},
        Refused{"%r: f32[2, 3] = aten.index_put.default(%x, [%i], %x)", "index 7 is out of range for size 2"},
        Refused{"%r: f32[3] = aten.amax.default(%e, [0])", "an empty tensor"},
        Refused{"%r: i64[3] = aten.argmax.default(%e, 0)", "an empty tensor"},
        Refused{"%r: u64[2] = aten.add.Tensor(%h, %h)",
                "dtype u64 is not supported by the reference kernels"},
        Refused{"%r: f32[2] = aten.exp.default(%x)", "but the graph declares f32[2]"},
        Refused{"%r: i64[2, 3] = aten.exp.default(%x)", "but the graph declares i64[2, 3]"},
        Refused{"%r: f32[7] = aten.view.default(%x, [7])", "view"},
        Refused{"%r: f32[2, 3] = aten.add.Tensor(%x, %n)", ""},
        Refused{"%r: f32[2, 2] = aten.mm.default(%x, %x)", ""},
        Refused{"%r: f32[2] = aten.arange.start_step(0.0, inf, 1.0)", ""},
        Refused{"%r: f32[2] = aten.arange.start_step(0, 10, 0)", ""},
        Refused{"%r: f32[4611686018427387904] = aten.arange.default(4611686018427387904, dtype=.f32)", ""},
        Refused{"%r: f32[2, 3] = aten.permute.default(%x, [0, 0])", ""},
        Refused{"%r: f32[2, 3] = aten.slice.Tensor(%x, 0, 0, 2, 0)", ""},
        Refused{"%r: f32[3] = aten.select.int(%x, 0, 2)", ""},
        Refused{"%r: f32[2, 3] = aten.clamp.default(%x)", ""},
        Refused{"%r: f32[2, 3] = aten.add.Tensor(%x, complex(1.0, 2.0))", ""},
        Refused{"%r: f32[2, 3] = aten.add.Tensor(%x)", "missing"},
        Refused{"%r: f32[3] = aten.as_strided.default(%x, [3], [4])", "outside"},
        Refused{"%r: f32[9000000000000000000, 9000000000000000000] = aten.full.default([9000000000000000000, "
                "9000000000000000000], 1.0)",
                "too many elements"}));

TEST(Kernels, ViewsShareTheStorage) {
  OneNode call(data_text + "%r: f32[3, 1] = aten.slice.Tensor(%x, 1, 1, 2)\n  return\n}\n");
  OneNode permuted(data_text + "%r: f32[3, 2] = aten.permute.default(%x, [1, 0])\n  return\n}\n");
  auto results = permuted.run();
  ASSERT_TRUE(results) << results.error().str();
  const auto& view = std::get<TensorData>(results->front());
  EXPECT_EQ(view.storage, permuted.program.find_data(Name("x"))->storage);
  EXPECT_EQ(view.type.strides, (Dims{1, 3}));
  EXPECT_FALSE(call.run()) << "the graph gives the sizes the wrong way round";
}

TEST(Kernels, AFilledTensorIsOneElement) {
  OneNode call(
      "program\nmethod forward() {\n  %r: f32[100000, 100000] = aten.full.default([100000, 100000], 2.0)\n  "
      "return\n}\n");
  auto results = call.run();
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ(std::get<TensorData>(results->front()).storage->size(), 4U);
}

TEST(Kernels, LargeResultsWait) {
  OneNode call(R"(program
data "x": f32[200, 200] = random(1)
method forward(%x: f32[200, 200] = param "x") {
  %r: f32[200, 200] = aten.neg.default(%x)
  return
}
)");
  auto results = call.run();
  ASSERT_TRUE(results) << results.error().str();
  const auto& data = std::get<TensorData>(results->front());
  EXPECT_TRUE(data.storage->is_lazy());
  internal::Elements<float> given(*call.program.find_data(Name("x")));
  internal::Elements<float> made(data);
  for (std::size_t i = 0; i < given.size(); ++i) ASSERT_EQ(made[i], -given[i]);
}

TEST(Elements, OfStridedTensorsComeInOrder) {
  TensorData data = make_data<float>(ScalarType::F32, {6}, std::vector<float>{0, 1, 2, 3, 4, 5});
  internal::Elements<std::int64_t> turned(internal::with_shape(data, {3, 2}, {1, 3}, 0));
  EXPECT_EQ(std::vector(turned.begin(), turned.end()), (std::vector<std::int64_t>{0, 3, 1, 4, 2, 5}));
  internal::Elements<double> repeated(internal::with_shape(data, {2, 2}, {0, 2}, 1));
  EXPECT_EQ(std::vector(repeated.begin(), repeated.end()), (std::vector<double>{1, 3, 1, 3}));
}

}  // namespace
}  // namespace depute
