// The sample models compute what eager PyTorch recorded, whatever the compiler has done to them: as read,
// normalized, and lowered to each backend (a delegate counts as the program it was made from).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "depute/compiler/compile.h"
#include "depute/compiler/normalize.h"
#include "depute/program/interpret.h"
#include "kernels/tensors.h"
#include "read/read_program.h"

namespace depute {
namespace {

using Json = nlohmann::json;

const std::string samples = "tests/models/samples/";

struct Recorded {
  std::string method;
  std::vector<RuntimeValue> inputs;
  std::vector<RuntimeValue> outputs;
};

RuntimeValue content_of(const Json& json, const std::string& bytes) {
  if (json["kind"] == "none") return std::monostate{};
  if (json["kind"] == "int") return json["value"].get<std::int64_t>();
  if (json["kind"] == "float") return json["value"].get<double>();
  if (json["kind"] == "bool") return json["value"].get<bool>();
  Dims sizes;
  for (const Json& size : json["shape"]) sizes.push_back(size.get<std::int64_t>());
  ScalarType dtype = *scalar_type_from_name(json["dtype"].get<std::string>());
  auto slice = std::as_bytes(std::span(bytes).subspan(json["offset"], json["nbytes"]));
  return make_data(make_tensor(dtype, sizes), {slice.begin(), slice.end()});
}

std::vector<Recorded> read_recorded(const std::string& name) {
  Json json = Json::parse(std::ifstream(samples + name + ".io.json"));
  std::ifstream file(samples + name + ".io.bin", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<Recorded> calls;
  for (const Json& recorded : json["cases"]) {
    Recorded call{.method = recorded["method"], .inputs = {}, .outputs = {}};
    for (const Json& value : recorded["inputs"]) call.inputs.push_back(content_of(value, bytes));
    for (const Json& value : recorded["outputs"]) call.outputs.push_back(content_of(value, bytes));
    calls.push_back(std::move(call));
  }
  return calls;
}

void expect_close(const RuntimeValue& actual, const RuntimeValue& expected, double allowed) {
  ASSERT_EQ(actual.index(), expected.index());
  const auto* wanted = std::get_if<TensorData>(&expected);
  if (wanted == nullptr) return;
  const auto& given = std::get<TensorData>(actual);
  ASSERT_EQ(str(make_tensor(given.type.dtype, given.type.sizes)), str(wanted->type));
  internal::Elements<double> a(given);
  internal::Elements<double> b(*wanted);
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (a[i] == b[i]) continue;
    EXPECT_LE(std::abs(a[i] - b[i]), allowed * std::max(1.0, std::abs(b[i]))) << "element " << i;
  }
}

// Runs the recorded calls in order; what a call stores to a buffer is there for the next.
void expect_recorded(Program& program, const std::vector<Recorded>& calls, double allowed = 2e-5) {
  for (const Recorded& call : calls) {
    const Method* method = program.find_method(call.method);
    ASSERT_NE(method, nullptr) << call.method;
    auto outputs = interpret(program, *method, call.inputs);
    ASSERT_TRUE(outputs) << outputs.error().str();
    std::size_t next = 0;
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const OutputSpec& spec = method->outputs[i];
      if (spec.kind == OutputSpec::Kind::BufferMutation) {
        program.data[spec.target] = std::get<TensorData>((*outputs)[i]);
      } else if (spec.kind == OutputSpec::Kind::UserOutput) {
        ASSERT_LT(next, call.outputs.size());
        expect_close((*outputs)[i], call.outputs[next++], allowed);
      }
    }
    EXPECT_EQ(next, call.outputs.size());
  }
}

struct Sample {
  std::string name;
  double allowed = 2e-5;  // what may lie between two results, relative to their size
};

class SampleResults : public ::testing::TestWithParam<Sample> {
 protected:
  std::string path() const { return samples + GetParam().name + ".pt2"; }
  void expect(Program& program) const {
    expect_recorded(program, read_recorded(GetParam().name), GetParam().allowed);
  }
};

TEST_P(SampleResults, OfTheProgramAsItWasRead) {
  auto program = read_program(path());
  ASSERT_TRUE(program) << program.error().str();
  expect(*program);
}

// A program that writes to its buffers is not interpreted as it was read.
class CompiledSamples : public SampleResults {};

TEST_P(CompiledSamples, OfTheNormalizedProgram) {
  auto program = read_program(path());
  ASSERT_TRUE(program) << program.error().str();
  auto normalized =
      normalize(std::move(*program), {.ops_to_not_decompose = {}, .verify = true, .observe = {}});
  ASSERT_TRUE(normalized) << normalized.error().str();
  expect(*normalized);
}

TEST_P(CompiledSamples, OfTheProgramLoweredToEachBackend) {
  const Compiler compiler;
  for (const BackendEntry& backend : compiler.registry().entries()) {
    SCOPED_TRACE(backend.name);
    if (!backend.is_ready()) continue;
    CompileOptions options;
    options.input = path();
    options.lower.backends.push_back({backend.name, {}});
    auto compiled = compile(compiler, options);
    ASSERT_TRUE(compiled) << compiled.error().str();
    Program program = clone(compiled->delegated.program());
    expect(program);
  }
}

std::string test_name(const ::testing::TestParamInfo<Sample>& sample) {
  std::string name = sample.param.name;
  std::ranges::replace(name, '/', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, SampleResults,
                         ::testing::Values(Sample{"mlp"}, Sample{"conv_relu_tan"}, Sample{"attn"},
                                           Sample{"tied"}, Sample{"args"}, Sample{"dynamic"},
                                           Sample{"qconv", 3e-3}, Sample{"multi"}, Sample{"cond"},
                                           Sample{"extra/loops"}, Sample{"extra/cond_chain"},
                                           Sample{"extra/mutbuf_functional"}),
                         test_name);

// A sum that falls on the other side of a half is a whole step of the quantized sample's output.
INSTANTIATE_TEST_SUITE_P(All, CompiledSamples,
                         ::testing::Values(Sample{"mlp"}, Sample{"conv_relu_tan"}, Sample{"attn"},
                                           Sample{"tied"}, Sample{"args"}, Sample{"dynamic"},
                                           Sample{"qconv", 3e-3}, Sample{"multi"}, Sample{"mutbuf"},
                                           Sample{"extra/mutbuf_functional"}),
                         test_name);

}  // namespace
}  // namespace depute
