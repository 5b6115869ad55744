// One program that several threads read, lower and plan at the same time: each gets what one alone gets, and
// nobody writes on the program (the thread sanitizer would tell).
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "depute/compiler.h"
#include "depute/equal.h"
#include "depute/find_matches.h"
#include "depute/normalize.h"
#include "depute/print.h"
#include "depute/to_backend.h"
#include "plan/plan.h"
#include "plan/plan_text.h"

namespace depute {
namespace {

constexpr int thread_count = 4;

template <typename T>
T must(Result<T> result) {
  EXPECT_TRUE(result.has_value()) << result.error().str();
  return result ? std::move(*result) : T();
}

// What each of several threads gets that do the same at the same time.
template <typename T>
std::vector<T> at_once(const std::function<T()>& work) {
  std::vector<T> results(thread_count);
  std::vector<std::thread> threads;
  for (T& result : results) threads.emplace_back([&] { result = work(); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

class TwoThreads : public ::testing::TestWithParam<const char*> {
 protected:
  Program normalized() const {
    Program program = must(compiler_.load(std::string("tests/models/samples/") + GetParam() + ".pt2"));
    return must(normalize(std::move(program)));
  }

  const Compiler compiler_;
};

std::string text_of(const Plan& plan) {
  std::string text;
  for (const ExecutionPlan& method : plan.methods) text += plan_text(method);
  return text;
}

TEST_P(TwoThreads, PlanOneProgram) {
  const Program program = must(lower_undelegated(normalized()));
  const auto work = [&] { return text_of(must(make_plan(program))); };
  const std::string alone = work();
  EXPECT_FALSE(alone.empty());
  for (const std::string& text : at_once<std::string>(work)) EXPECT_EQ(text, alone);
}

TEST_P(TwoThreads, EmitOneProgram) {
  const Program program = must(lower_undelegated(normalized()));
  const auto work = [&] { return must(compiler_.emit(program)).pte; };
  const std::vector<std::byte> alone = work();
  EXPECT_FALSE(alone.empty());
  for (const auto& bytes : at_once<std::vector<std::byte>>(work)) EXPECT_EQ(bytes, alone);
}

TEST_P(TwoThreads, LowerOneProgramToEachBackend) {
  const Program program = normalized();
  for (const BackendEntry& backend : compiler_.registry().entries()) {
    SCOPED_TRACE(backend.name);
    const auto partitioner = must(make_partitioner(backend, {}));
    const auto work = [&] { return must(to_backend(program, *partitioner, compiler_.registry())).program; };
    const Program alone = work();
    for (const Program& lowered : at_once<Program>(work))
      EXPECT_EQ(first_difference(lowered, alone), std::nullopt);
  }
}

TEST_P(TwoThreads, LookForPatternsInOneProgram) {
  const Program program = normalized();
  const std::vector<Pattern> patterns =
      must(parse_patterns("program\nmethod any(%x: none) {\n  %y: none = aten.relu.default(%x)\n"
                          "  return %y\n}\n"));
  const auto work = [&] {
    std::vector<const Node*> found;
    for (const auto& method : program.methods) {
      for (const PatternMatch& match : find_matches(*method, *method->graph, patterns))
        found.insert(found.end(), match.nodes.begin(), match.nodes.end());
    }
    return found;
  };
  const std::vector<const Node*> alone = work();
  for (const auto& found : at_once<std::vector<const Node*>>(work)) EXPECT_EQ(found, alone);
}

INSTANTIATE_TEST_SUITE_P(Samples, TwoThreads,
                         ::testing::Values("mlp", "attn", "cond", "multi", "dynamic", "mutbuf"));

}  // namespace
}  // namespace depute
