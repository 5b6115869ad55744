// Several threads read, lower and plan one program at the same time. Each result is that of one thread alone, and
// no thread writes to the program (the thread sanitizer checks this).
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "depute/backend/pattern.h"
#include "depute/compiler/compiler.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "plan/plan.h"
#include "plan/plan_text.h"
#include "tests/unit/parse.h"

namespace depute {
namespace {

constexpr int thread_count = 4;

// The results of several threads that do the same work at the same time.
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
  Exported exported() const {
    return must(compiler_.load(std::string("tests/models/samples/") + GetParam() + ".pt2"));
  }
  Edge normalized() const { return must(compiler_.to_edge(exported())); }
  Delegated undelegated() const {
    return must(lower_undelegated(must(compiler_.to_backend(normalized(), {}))));
  }

  const Compiler compiler_;
};

std::string text_of(const Plan& plan) {
  std::string text;
  for (const ExecutionPlan& method : plan.methods) text += plan_text(method);
  return text;
}

TEST_P(TwoThreads, PlanOneProgram) {
  const Delegated lowered = undelegated();
  const auto work = [&] { return text_of(must(make_plan(lowered.program()))); };
  const std::string alone = work();
  EXPECT_FALSE(alone.empty());
  for (const std::string& text : at_once<std::string>(work)) EXPECT_EQ(text, alone);
}

TEST_P(TwoThreads, WriteOneProgram) {
  const Delegated lowered = undelegated();
  const auto work = [&] { return must(write(must(to_executorch(lowered)))).pte; };
  const std::vector<std::byte> alone = work();
  EXPECT_FALSE(alone.empty());
  for (const auto& bytes : at_once<std::vector<std::byte>>(work)) EXPECT_EQ(bytes, alone);
}

TEST_P(TwoThreads, LowerOneProgramToEachBackend) {
  const Edge edge = normalized();
  const Program& program = edge.program();
  for (const BackendEntry& backend : compiler_.registry().entries()) {
    SCOPED_TRACE(backend.name);
    if (!backend.is_ready()) continue;
    const auto partitioner = must(make_partitioner(backend, {}));
    const auto work = [&] { return must(to_backend(program, *partitioner, compiler_.registry())).program; };
    const Program alone = work();
    for (const Program& lowered : at_once<Program>(work))
      EXPECT_EQ(first_difference(lowered, alone), std::nullopt);
  }
}

TEST_P(TwoThreads, LookForPatternsInOneProgram) {
  const Edge edge = normalized();
  const Program& program = edge.program();
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

// Each thread takes a copy of each stage. No step may write to a program that another thread still reads.
TEST_P(TwoThreads, LowerCopiesOfOneStage) {
  const Exported first = exported();
  for (const BackendEntry& backend : compiler_.registry().entries()) {
    SCOPED_TRACE(backend.name);
    if (!backend.is_ready()) continue;
    const LowerOptions options{.backends = {{backend.name}}};
    const Edge edge = must(compiler_.to_edge(first, options));
    const auto from_exported = [&] { return print(must(compiler_.lower(first, options)).program()); };
    const auto from_edge = [&] {
      return print(must(lower_undelegated(must(compiler_.to_backend(edge, options)))).program());
    };
    const std::string alone = from_exported();
    EXPECT_EQ(from_edge(), alone);
    for (const std::string& text : at_once<std::string>(from_exported)) EXPECT_EQ(text, alone);
    for (const std::string& text : at_once<std::string>(from_edge)) EXPECT_EQ(text, alone);
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, TwoThreads,
                         ::testing::Values("mlp", "attn", "cond", "multi", "dynamic", "mutbuf"));

}  // namespace
}  // namespace depute
