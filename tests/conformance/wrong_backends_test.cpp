// Backends that break the contract, each in one way, and the check of the suite that sees it. A right one
// passes all of them.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "checks.h"
#include "depute/backend/backend.h"
#include "depute/backend/partitioners.h"
#include "depute/program/text.h"

namespace depute {
namespace {

constexpr std::string_view ops = R"(program
data "w": f32[2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
method forward(%x: f32[2, 3], %w: f32[2, 3] = param "w") {
  %a: f32[2, 3] = aten.mul.Tensor(%x, %w)
  %b: f32[2, 3] = aten.relu.default(%a)
  %c: f32[2, 3] = aten.tan.default(%b)
  %d: f32[2, 3] = aten.relu.default(%c)
  return %d
}
)";

constexpr const char* mul_relu = R"(program
method mul_relu(%a: none, %b: none) {
  %m: none = aten.mul.Tensor(%a, %b)
  %r: none = aten.relu.default(%m)
  return %r
}
)";

std::string op_text(const Program& program) {
  std::string text;
  for (const Node& node : program.methods.front()->graph->nodes()) text += std::string(node.op().str()) + ";";
  return text;
}

// The bytes of all constants, as `bytes_of` has them, and the graph.
template <typename BytesOf>
FunctionBackend::Preprocess shipping(BytesOf bytes_of) {
  return [bytes_of](const Program& program) -> Result<PreprocessResult> {
    PreprocessResult result{.processed_bytes = storage_of(op_text(program))};
    for (const auto& [key, data] : program.data)
      result.data_store_output.push_back({.key = std::string(key.str()), .storage = bytes_of(data)});
    return result;
  };
}

// The right way.
FunctionBackend::Preprocess right() {
  return shipping([](const TensorData& data) { return dense_bytes(data); });
}

class WrongBackends : public testing::Test {
 protected:
  // Takes mul, relu, and its own op.
  void add(FunctionBackend::Preprocess preprocess, std::vector<BackendOpSpec> own = {}) {
    BackendEntry entry;
    entry.name = "tried";
    entry.backend = std::make_unique<FunctionBackend>("Tried", std::move(preprocess));
    entry.libraries = {"wrong"};
    entry.ops = std::move(own);
    entry.make_partitioner = [](const BackendOptions&) -> Result<std::unique_ptr<Partitioner>> {
      return std::make_unique<CapabilityPartitioner>(
          support_by_op({{"aten.mul.Tensor", {}}, {"aten.relu.default", {}}, {"wrong.mul_relu.default", {}}}),
          ProposeOptions{.owner = "tried", .spec = {"Tried", {}}});
    };
    auto added = registry_.add(std::move(entry));
    ASSERT_TRUE(added.has_value()) << added.error().str();
  }

  // What the check finds fault with, in words.
  template <typename Check>
  std::string faults(Check check) {
    std::vector<TestProgram> programs;
    programs.push_back({"ops", std::move(*parse_program(std::string(ops)))});
    testing::TestPartResultArray results;
    {
      testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
      check(Subject{*registry_.find("tried"), registry_}, programs);
    }
    std::string text;
    for (int i = 0; i < results.size(); ++i) {
      if (results.GetTestPartResult(i).failed()) text += results.GetTestPartResult(i).message();
    }
    return text;
  }
  std::string faults_of_places() { return faults(check_places_of_data); }
  std::string faults_of_partitioners() { return faults(check_canonical_partitioners); }
  std::string faults_of_ops() {
    return faults([](const Subject& subject, const std::vector<TestProgram>& programs) {
      check_own_ops(subject, programs, {});
    });
  }

  Registry registry_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(WrongBackends, ARightOnePasses) {
  add(right(), {{.name = "wrong.mul_relu.default", .pattern = mul_relu}});
  EXPECT_EQ(faults_of_places(), "");
  EXPECT_EQ(faults_of_partitioners(), "");
  EXPECT_EQ(faults_of_ops(), "");
}

TEST_F(WrongBackends, TheWholeStorageOfAViewIsSeen) {
  add(shipping([](const TensorData& data) { return data.storage; }));
  EXPECT_TRUE(has(faults_of_places(), "depend on where its constants lie")) << faults_of_places();
}

TEST_F(WrongBackends, TheRightSizeFromTheWrongPlaceIsSeen) {
  add(shipping([](const TensorData& data) { return Storage::part(data.storage, 0, data.byte_size()); }));
  EXPECT_TRUE(has(faults_of_places(), "depend on where its constants lie")) << faults_of_places();
}

TEST_F(WrongBackends, AnExceptionForPartitionsOfOthersIsSeen) {
  add([](const Program& program) -> Result<PreprocessResult> {
    if (program.methods[0]->graph->node_count() == 1 && op_text(program) != "aten.relu.default;")
      throw std::runtime_error("not mine");
    return right()(program);
  });
  EXPECT_EQ(faults_of_places(), "") << "its own partitions are fine";
  EXPECT_TRUE(has(faults_of_partitioners(), "not mine")) << faults_of_partitioners();
}

TEST_F(WrongBackends, AResultThatDependsOnTheCallIsSeen) {
  auto count = std::make_shared<std::atomic<int>>(0);
  add([count](const Program&) -> Result<PreprocessResult> {
    return PreprocessResult{.processed_bytes = storage_of(std::to_string(++*count))};
  });
  EXPECT_NE(faults_of_partitioners(), "");
}

TEST_F(WrongBackends, AnOpThatNoProgramShowsIsSeen) {
  constexpr const char* never = R"(program
method never(%a: none) {
  %m: none = aten.cos.default(%a)
  %r: none = aten.relu.default(%m)
  return %r
}
)";
  add(right(), {{.name = "wrong.never.default", .pattern = never}});
  EXPECT_TRUE(has(faults_of_ops(), "wrong.never.default is an own op that no program shows"))
      << faults_of_ops();
}

Result<std::vector<Type>> flat(const OpCall& call) {
  return std::vector<Type>{tensor_type(make_tensor(call.tensor("a").dtype, {SymInt(6)}))};
}

TEST_F(WrongBackends, ARuleThatSaysOtherTypesIsSeen) {
  add(right(), {{.name = "wrong.flat.default", .pattern = mul_relu, .infer = flat}});
  EXPECT_TRUE(has(faults_of_ops(), "says other types than its pattern has")) << faults_of_ops();
}

}  // namespace
}  // namespace depute
