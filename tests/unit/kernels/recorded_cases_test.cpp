// Replays what torch computed for small calls of every family (recorded by
// tests/models/record_kernel_cases.py): nan, inf, negative zero, empty and 0-d tensors, strided inputs, all
// element types.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "depute/program/interpret.h"
#include "kernels/tensors.h"

namespace depute {
namespace {

using Json = nlohmann::json;

double number_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  if (!json.is_string()) return json.get<double>();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  return json == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

Dims dims_of(const Json& json) {
  Dims dims;
  for (const Json& size : json) dims.push_back(size.get<std::int64_t>());
  return dims;
}

TensorData tensor_of(const Json& json) {
  ScalarType dtype = *scalar_type_from_name(json["t"].get<std::string>());
  TensorData data;
  data.type =
      make_tensor(dtype, dims_of(json["s"]), json.contains("strides") ? dims_of(json["strides"]) : Dims{});
  data.offset = json.value("offset", 0);
  if (*internal::domain_of(dtype) == internal::Domain::Int) {
    std::vector<std::int64_t> numbers;
    for (const Json& element : json["d"]) {
      numbers.push_back(element.is_boolean() ? element.get<bool>() : element.get<std::int64_t>());
    }
    data.storage = Storage::owned(internal::pack<std::int64_t>(dtype, numbers));
  } else {
    std::vector<double> numbers;
    for (const Json& element : json["d"]) numbers.push_back(number_of(element));
    data.storage = Storage::owned(internal::pack<double>(dtype, numbers));
  }
  return data;
}

// A recorded call as a node, with its inputs.
struct Call {
  Graph graph;
  std::vector<RuntimeValue> inputs;  // by index of the graph's inputs
  Node* node = nullptr;

  Argument argument_of(const Json& json) {
    if (json.is_null()) return Argument::none();
    if (json.is_boolean()) return Argument::of(json.get<bool>());
    if (json.is_number_integer()) return Argument::of(json.get<std::int64_t>());
    if (json.is_string()) return Argument::string(json.get<std::string>());
    if (json.is_array()) {
      std::vector<Argument> elements;
      for (const Json& element : json) elements.push_back(argument_of(element));
      return graph.list(elements);
    }
    if (json.contains("f")) return Argument::of(number_of(json["f"]));
    if (json.contains("dtype")) return Argument::of(*scalar_type_from_name(json["dtype"].get<std::string>()));
    TensorData data = tensor_of(json);
    Type type = tensor_type(make_tensor(data.type.dtype, data.type.sizes));
    inputs.emplace_back(std::move(data));
    return Argument::of(graph.add_input(Name("x"), type));
  }

  explicit Call(const Json& recorded) {
    std::vector<Argument> args;
    std::vector<NamedArgument> kwargs;
    std::vector<ResultSpec> results;
    for (const Json& arg : recorded["args"]) args.push_back(argument_of(arg));
    if (recorded.contains("kwargs")) {
      for (const auto& [name, value] : recorded["kwargs"].items()) {
        kwargs.push_back({Name(name), argument_of(value)});
      }
    }
    for (const Json& out : recorded["out"]) {
      ScalarType dtype = *scalar_type_from_name(out["t"].get<std::string>());
      results.push_back({Name("y"), tensor_type(make_tensor(dtype, dims_of(out["s"])))});
    }
    node = graph.add(Name(recorded["op"].get<std::string>()), args, kwargs, results);
  }

  Result<std::vector<RuntimeValue>> run() const {
    return run_kernel(*node, [&](const Value& value) { return &inputs[value.index()]; });
  }
};

// What may lie between two correct results, relative to their size.
double tolerance(ScalarType dtype) {
  if (dtype == ScalarType::F16) return 1.5e-3;
  if (dtype == ScalarType::BF16) return 1.2e-2;
  return dtype == ScalarType::F32 ? 3e-6 : 1e-12;
}

testing::AssertionResult same_number(double actual, double expected, double allowed) {
  if (std::isnan(expected) ? std::isnan(actual) : actual == expected) return testing::AssertionSuccess();
  if (std::abs(actual - expected) <= allowed * std::max(1.0, std::abs(expected)))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << actual << " instead of " << expected;
}

void expect_same(const RuntimeValue& content, const Json& expected) {
  const auto* actual = std::get_if<TensorData>(&content);
  ASSERT_NE(actual, nullptr);
  TensorData wanted = tensor_of(expected);
  ASSERT_EQ(str(make_tensor(actual->type.dtype, actual->type.sizes)), str(wanted.type));
  internal::Elements<double> a(*actual);
  internal::Elements<double> b(wanted);
  bool is_int = *internal::domain_of(wanted.type.dtype) == internal::Domain::Int;
  for (std::size_t i = 0; i < b.size(); ++i) {
    EXPECT_TRUE(same_number(a[i], b[i], is_int ? 0 : tolerance(wanted.type.dtype))) << "element " << i;
  }
}

TEST(RecordedCases, AreWhatTorchComputes) {
  std::ifstream file("tests/unit/kernels/cases.json");
  ASSERT_TRUE(file) << "run from the root of the repository";
  Json cases = Json::parse(file);
  for (const Json& recorded : cases) {
    SCOPED_TRACE(recorded.dump());
    Call call(recorded);
    auto results = call.run();
    if (!results) {
      ADD_FAILURE() << results.error().str();
      continue;
    }
    ASSERT_EQ(results->size(), recorded["out"].size());
    for (std::size_t i = 0; i < results->size(); ++i) expect_same((*results)[i], recorded["out"][i]);
  }
}

}  // namespace
}  // namespace depute
