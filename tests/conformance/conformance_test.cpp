// What the contract asks of a backend and its partitioner, for every one that the build finds:
//
//   what it claims it can take it takes, and what its partitioner takes it can compile;
//   every node gets one verdict, with a rule where it is refused;
//   the same program gives the same result, on any number of threads;
//   nothing that it is given is changed, and the program computes what it did;
//   what it cannot do is an error, never a crash or an exception;
//   its own ops take the place of their patterns, and what is left of them can be emitted;
//   it does not matter where in a storage a constant lies, nor which partitioner made the partitions.
//
// checks.h has the last two rows as functions; wrong_backends_test.cpp shows them to fail.
//
// A backend's own programs go to backends/NAME/conformance/*.ir; ops that its matrix lists and that no
// program shows it taking, to backends/NAME/conformance/untried.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "checks.h"
#include "depute/compiler/normalize.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/inspect.h"
#include "depute/program/program.h"
#include "depute/program/walk.h"
#include "ir/verify.h"
#include "programs.h"

namespace depute {
namespace {

const Registry& registry() {
  static const Registry all = make_registry();
  return all;
}

class Conformance : public ::testing::TestWithParam<std::string> {
 protected:
  const BackendEntry& entry() const { return *registry().find(GetParam()); }

  Subject subject() const { return {entry(), registry()}; }

  std::unique_ptr<Partitioner> partitioner() const {
    auto made = make_partitioner(entry(), {});
    EXPECT_TRUE(made.has_value()) << made.error().str();
    return std::move(*made);
  }

  // Normalized for this backend; nothing where that is refused.
  static std::optional<Program> normalized(const Program& program, const Partitioner& partitioner) {
    NormalizeOptions options;
    options.ops_to_not_decompose.push_back(partitioner.ops_to_not_decompose(program));
    auto result = normalize(clone(program), options);
    if (!result) return std::nullopt;
    return std::move(*result);
  }

  // All programs, normalized; those of one op and of backends also as they are, for ops that
  // normalization replaces.
  std::vector<TestProgram> programs() const {
    auto asked = partitioner();
    std::vector<TestProgram> ready;
    auto add_normalized = [&](const TestProgram& given) {
      auto program = normalized(given.program, *asked);
      if (!program) return;
      TestProgram plain{given.name, std::move(*program)};
      Program bound = with_own_ops(subject(), plain);
      ready.push_back({given.name, std::move(bound)});
    };
    for (const TestProgram& given : model_programs()) add_normalized(given);
    for (auto& list : {op_programs(), backend_programs()}) {
      for (const TestProgram& given : list) {
        add_normalized(given);
        ready.push_back({given.name + " as it is", clone(given.program)});
      }
    }
    EXPECT_GT(ready.size(), 500u);
    return ready;
  }
};

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendEntry& entry : registry().entries())
    if (entry.is_ready()) names.push_back(entry.name);
  return names;
}

std::set<std::string> lines_of(const std::string& path) {
  std::set<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !line.starts_with("#")) lines.insert(line);
  }
  return lines;
}

TEST_P(Conformance, TakesWhatItClaimsAndCompilesWhatItTakes) {
  auto asked = partitioner();
  std::set<std::string> taken;
  for (const TestProgram& given : programs()) {
    SCOPED_TRACE(given.name);
    auto lowered = to_backend(given.program, *asked, registry());
    ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
    for (const NodeVerdict& verdict : lowered->verdicts) {
      if (verdict.verdict.delegated) taken.emplace(verdict.op.str());
    }
    for (const auto& delegate : lowered->program.delegates) {
      ASSERT_NE(delegate->processed_bytes, nullptr);
      EXPECT_EQ(delegate->processed_bytes->bytes().size(), delegate->processed_bytes->size());
    }
  }
  std::set<std::string> untried = lines_of(fmt::format("backends/{}/conformance/untried.txt", GetParam()));
  std::set<std::string> claimed;
  auto matrix = support_matrix(entry());
  ASSERT_TRUE(matrix.has_value()) << matrix.error().str();
  for (const SupportRow& row : *matrix) {
    claimed.insert(row.op);
    if (untried.contains(row.op)) {
      EXPECT_FALSE(taken.contains(row.op)) << row.op << " is taken: strike it from untried.txt";
    } else {
      EXPECT_TRUE(taken.contains(row.op)) << row.op << " is claimed, and no program shows it taken";
    }
  }
  for (const std::string& op : taken) EXPECT_TRUE(claimed.contains(op)) << op << " is taken and not claimed";
}

TEST_P(Conformance, GivesEveryNodeOneVerdict) {
  auto asked = partitioner();
  for (const TestProgram& given : programs()) {
    SCOPED_TRACE(given.name);
    for (const auto& method : given.program.methods) {
      auto result = asked->partition(given.program, *method);
      ASSERT_TRUE(result.has_value()) << result.error().str();
      std::map<const Node*, Name> tags(result->node_tags.begin(), result->node_tags.end());
      std::set<const Node*> inside;  // bodies that move with their node
      for (const auto& [node, tag] : tags) {
        for (const Graph* body : graphs_below(*node)) {
          for (const Node& inner : body->nodes()) inside.insert(&inner);
        }
      }
      std::map<const Node*, int> verdicts;
      for (const auto& [node, verdict] : result->verdicts) {
        ++verdicts[node];
        EXPECT_EQ(verdict.delegated, tags.contains(node) || inside.contains(node)) << node->display_name();
        EXPECT_FALSE(verdict.delegated ? verdict.owner.empty() : verdict.rule.empty())
            << node->display_name();
      }
      auto outside = [&](const Node& node) { return !tags.contains(&node); };
      for (const Graph* graph : graphs_of(*method, outside)) {
        for (const Node& node : graph->nodes())
          EXPECT_EQ(verdicts[&node], 1) << node.op().str() << " " << node.display_name();
      }
    }
  }
}

TEST_P(Conformance, IsDeterministicOnAnyNumberOfThreads) {
  auto asked = partitioner();
  for (const TestProgram& given : programs()) {
    SCOPED_TRACE(given.name);
    auto one = to_backend(given.program, *asked, registry(), {.jobs = 1, .check_determinism = true});
    auto four = to_backend(given.program, *partitioner(), registry(), {.jobs = 4});
    ASSERT_TRUE(one.has_value()) << one.error().str();
    ASSERT_TRUE(four.has_value()) << four.error().str();
    EXPECT_EQ(first_difference(one->program, four->program), std::nullopt);
  }
}

TEST_P(Conformance, LeavesWhatItIsGivenAndWhatItComputes) {
  auto asked = partitioner();
  int compared = 0;
  for (const TestProgram& given : programs()) {
    SCOPED_TRACE(given.name);
    Program before = clone(given.program);
    auto lowered = to_backend(given.program, *asked, registry());
    ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
    EXPECT_TRUE(equal(given.program, before));
    EXPECT_TRUE(verify(lowered->program).empty());
    if (!lowered->program.delegates.empty()) compared += expect_same_results(given.program, lowered->program);
  }
  EXPECT_GT(compared, 0);
}

TEST_P(Conformance, RefusesWithAnErrorWhatItsPartitionerWouldNotTake) {
  for (const TestProgram& given : programs()) {
    SCOPED_TRACE(given.name);
    if (given.program.methods.size() != 1) continue;
    auto delegate = to_backend(entry().backend->id(), given.program, {}, registry());
    if (delegate) {
      EXPECT_NE(delegate->processed_bytes, nullptr);
    } else {
      EXPECT_EQ(delegate.error().code, "to_backend.backend-failed");
      EXPECT_FALSE(delegate.error().message.empty());
    }
  }
}

TEST_P(Conformance, RefusesUnknownOptions) {
  auto made = make_partitioner(entry(), {{"no-such-option", "1"}});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, "usage");
}

TEST_P(Conformance, TakesAnEmptyProgram) {
  Program program;
  program.add_method(Name("forward"));
  auto lowered = to_backend(program, *partitioner(), registry());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_TRUE(lowered->program.delegates.empty());
}

TEST_P(Conformance, PreprocessesTheSameProgramOnSeveralThreads) {
  auto asked = partitioner();
  std::vector<TestProgram> all = programs();
  std::vector<Lowered> lowered;
  std::vector<const Delegate*> delegates;
  for (const TestProgram& given : all) {
    auto result = to_backend(given.program, *asked, registry());
    ASSERT_TRUE(result.has_value()) << result.error().str();
    lowered.push_back(std::move(*result));
  }
  for (const Lowered& one : lowered) {
    for (const auto& delegate : one.program.delegates) delegates.push_back(delegate.get());
  }
  std::vector<std::thread> threads;
  std::array<int, 4> differences{};
  for (int& different : differences) {
    threads.emplace_back([&] {
      for (const Delegate* delegate : delegates) {
        auto again = entry().backend->preprocess(*delegate->original, delegate->compile_specs);
        bool is_same = again.has_value() &&
                       content_hash(*again->processed_bytes) == content_hash(*delegate->processed_bytes);
        different += is_same ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(delegates.size(), 0u);
  EXPECT_EQ(std::ranges::max(differences), 0);
}

TEST_P(Conformance, ItsOwnOpsTakeTheirPlacesAndCanBeEmitted) {
  std::set<std::string> untried = lines_of(fmt::format("backends/{}/conformance/untried.txt", GetParam()));
  check_own_ops(subject(), programs(), {untried.begin(), untried.end()});
}

TEST_P(Conformance, DoesNotCareWhereConstantsLie) {
  check_places_of_data(subject(), programs());
}

TEST_P(Conformance, CompilesOrRefusesWhatCanonicalPartitionersGiveIt) {
  check_canonical_partitioners(subject(), programs());
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

}  // namespace
}  // namespace depute
