#include "checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "depute/backend/partitioners.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/interpret.h"
#include "depute/program/program.h"
#include "depute/program/walk.h"
#include "ir/verify.h"

namespace depute {
namespace {

std::unique_ptr<Partitioner> own_partitioner(const Subject& subject) {
  auto made = subject.entry.make_partitioner({});
  EXPECT_TRUE(made.has_value()) << made.error().str();
  return std::move(*made);
}

std::vector<Name> own_ops(const Subject& subject) {
  std::vector<Name> names;
  for (const BackendOpSpec& op : subject.entry.ops) names.emplace_back(op.name);
  return names;
}

void expect_types_of_rules(const Program& program) {
  for (const auto& method : program.methods) {
    for (const Graph* graph : graphs_of(*method)) {
      for (const Node& node : graph->nodes()) {
        const OpDef* def = node.def();
        if (def == nullptr || def->origin != OpOrigin::Backend || def->infer == nullptr) continue;
        auto types = def->infer(OpCall(node));
        ASSERT_TRUE(types.has_value()) << node.op().str() << ": " << types.error().str();
        ASSERT_EQ(types->size(), node.results().size()) << node.op().str();
        for (std::size_t i = 0; i < types->size(); ++i) {
          EXPECT_EQ((*types)[i], node.result(i)->type())
              << node.op().str() << " says other types than its pattern has";
        }
      }
    }
  }
}

// --- the same program with its constants elsewhere

// The elements with gaps between, before and behind them, which are filled with something else.
TensorData moved(const TensorData& data) {
  if (data.storage->is_elided() || !data.is_dense()) return data;
  constexpr std::int64_t first = 3;
  const std::size_t item = item_size(data.type.dtype);
  auto dense = data.dense_bytes();
  std::vector<std::byte> bytes(2 * dense.size() + 2 * first * item, std::byte{0x5A});
  for (std::size_t at = 0; at < dense.size(); at += item) {
    std::ranges::copy(dense.subspan(at, item),
                      bytes.begin() + static_cast<std::ptrdiff_t>(2 * at + first * item));
  }
  Dims strides = contiguous_strides(data.type.sizes);
  for (SymInt& stride : strides) stride = SymInt(2 * stride.value());
  return {make_tensor(data.type.dtype, data.type.sizes, strides), first, Storage::owned(std::move(bytes))};
}

Program with_moved_data(const Program& program) {
  Program copy = clone(program);
  for (auto& [key, data] : copy.data) data = moved(data);
  return copy;
}

// --- canonical partitioners

// What the backend's own partitioner makes of a program.
struct OwnPartitions {
  std::set<Name, SymbolTextLess> ops;                   // of taken nodes
  std::map<Name, std::size_t, SymbolTextLess> results;  // of an op that is taken
  std::vector<std::vector<std::string>> groups;         // per partition, the names of its nodes
  std::vector<std::pair<std::string, Name>> tags;
  DelegationSpec spec;
};

OwnPartitions own_partitions(const Subject& subject, const Program& program) {
  OwnPartitions own{.ops = {},
                    .results = {},
                    .groups = {},
                    .tags = {},
                    .spec = {std::string(subject.entry.backend->id()), {}}};
  auto partitioner = own_partitioner(subject);
  for (const auto& method : program.methods) {
    auto result = partitioner->partition(program, *method);
    EXPECT_TRUE(result.has_value()) << result.error().str();
    if (!result) continue;
    std::map<std::string, std::vector<std::string>> by_tag;
    for (const auto& [node, tag] : result->node_tags) {
      own.ops.insert(node->op());
      own.results[node->op()] = node->results().size();
      const bool is_top = &node->graph() == method->graph.get();
      if (!is_top || node->results().empty()) continue;
      by_tag[std::string(tag.str())].emplace_back(node->result()->name().str());
    }
    for (const auto& [tag, spec] : result->partition_tags) own.spec = spec;
    // Names may be those of nodes in another method, so groups are of one-method programs only.
    if (program.methods.size() > 1) continue;
    for (auto& [tag, names] : by_tag) own.groups.push_back(std::move(names));
  }
  return own;
}

class TakenOp : public OpConfig {
 public:
  explicit TakenOp(Name op) : op_(op) {}
  std::string_view op() const override { return op_.str(); }

 private:
  Name op_;
};

std::vector<Pattern> patterns_of(const OwnPartitions& own) {
  std::string text = "program\n";
  int count = 0;
  for (const auto& [op, results] : own.results) {
    if (results == 0) continue;
    std::vector<std::string> typed;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < results; ++i) {
      names.push_back(fmt::format("%r{}", i));
      typed.push_back(names.back() + ": none");
    }
    text += fmt::format("method p{}() {{\n  {} = {}(match.rest)\n  return {}\n}}\n", count++,
                        fmt::join(typed, ", "), op.str(), fmt::join(names, ", "));
  }
  if (count == 0) return {};
  auto patterns = parse_patterns(text);
  EXPECT_TRUE(patterns.has_value()) << patterns.error().str() << "\n" << text;
  return patterns ? std::move(*patterns) : std::vector<Pattern>();
}

std::vector<std::pair<std::string, std::unique_ptr<Partitioner>>> canonical_partitioners(
    const Subject& subject, const OwnPartitions& own) {
  const ProposeOptions joined{.owner = "joined", .spec = own.spec};
  ProposeOptions apart = joined;
  apart.regions.mode = RegionMode::Apart;
  std::vector<OpSupport> rules;
  std::vector<std::unique_ptr<OpConfig>> configs;
  for (Name op : own.ops) {
    rules.push_back({std::string(op.str()), {}});
    configs.push_back(std::make_unique<TakenOp>(op));
  }
  std::vector<std::pair<std::string, std::unique_ptr<Partitioner>>> all;
  all.emplace_back("Capability", std::make_unique<CapabilityPartitioner>(support_by_op(rules), joined));
  all.emplace_back("Capability, apart", std::make_unique<CapabilityPartitioner>(support_by_op(rules), apart));
  all.emplace_back("Pattern", std::make_unique<PatternPartitioner>(patterns_of(own), apart));
  if (!own.groups.empty())
    all.emplace_back("Group", std::make_unique<GroupPartitioner>(groups_by_name(own.groups), apart));
  all.emplace_back("Config", std::make_unique<ConfigPartitioner>(std::move(configs), joined));
  all.emplace_back("WholeProgram", std::make_unique<WholeProgramPartitioner>(subject.entry.name, own.spec));
  all.emplace_back("Tagged", std::make_unique<TaggedPartitioner>(own.spec));
  return all;
}

// The program with each node of an op that the backend takes as a partition of its own, for
// TaggedPartitioner.
Program tagged(const Program& program, const OwnPartitions& own) {
  Program copy = clone(program);
  int count = 0;
  for (auto& method : copy.methods) {
    for (Node& node : method->graph->nodes()) {
      if (own.ops.contains(node.op())) node.tag = Name(fmt::format("t{}", count++));
    }
  }
  return copy;
}

// A backend may refuse partitions that its own partitioner would not make, and state may be split by them.
void expect_refusal(const Diagnostic& error) {
  EXPECT_TRUE(error.code == "to_backend.backend-failed" || error.code == "to_backend.split-state")
      << error.str();
  EXPECT_FALSE(error.message.empty());
  EXPECT_EQ(error.message.find("it threw"), std::string::npos) << error.str();
}

void check_partitioner(const Subject& subject, const Program& program, const Partitioner& partitioner) {
  auto lowered = to_backend(program, partitioner, subject.registry);
  if (!lowered) return expect_refusal(lowered.error());
  EXPECT_TRUE(verify(lowered->program).empty());
  auto again = to_backend(program, partitioner, subject.registry, {.jobs = 4});
  ASSERT_TRUE(again.has_value()) << again.error().str();
  EXPECT_EQ(first_difference(lowered->program, again->program), std::nullopt);
  if (!lowered->program.delegates.empty()) expect_same_results(program, lowered->program);
}

}  // namespace

Program with_own_ops(const Subject& subject, const TestProgram& given) {
  Program program = clone(given.program);
  std::vector<Name> names = own_ops(subject);
  if (names.empty()) return program;
  auto bound = bind_backend_ops(program, subject.registry.ops(), names);
  EXPECT_TRUE(bound.has_value()) << bound.error().str();
  if (!bound || *bound == 0) return program;
  EXPECT_TRUE(verify(program).empty());
  expect_types_of_rules(program);
  expect_same_results(given.program, program);
  return program;
}

void check_own_ops(const Subject& subject, const std::vector<TestProgram>& programs,
                   const std::vector<std::string>& untried) {
  std::set<Name, SymbolTextLess> seen;
  for (const TestProgram& given : programs) {
    SCOPED_TRACE(given.name);
    Program program = with_own_ops(subject, given);
    for (const auto& method : program.methods) {
      for (const Graph* graph : graphs_of(*method)) {
        for (const Node& node : graph->nodes()) seen.insert(node.op());
      }
    }
    auto lowered = to_backend(program, *own_partitioner(subject), subject.registry);
    ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
    auto expanded = expand_backend_ops(lowered->program, BackendOpsToExpand::WithoutKernel);
    EXPECT_TRUE(expanded.has_value()) << expanded.error().str();
    EXPECT_TRUE(verify(lowered->program).empty());
  }
  for (const BackendOpSpec& op : subject.entry.ops) {
    const bool is_untried = std::ranges::find(untried, op.name) != untried.end();
    EXPECT_NE(seen.contains(Name(op.name)), is_untried)
        << op.name
        << (is_untried ? " is seen: strike it from untried.txt" : " is an own op that no program shows");
  }
}

void check_places_of_data(const Subject& subject, const std::vector<TestProgram>& programs) {
  int compared = 0;
  for (const TestProgram& given : programs) {
    if (given.program.data.empty()) continue;
    SCOPED_TRACE(given.name);
    Program elsewhere = with_moved_data(given.program);
    ASSERT_TRUE(verify(elsewhere).empty());
    auto lowered = to_backend(given.program, *own_partitioner(subject), subject.registry);
    auto other = to_backend(elsewhere, *own_partitioner(subject), subject.registry);
    ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
    ASSERT_TRUE(other.has_value()) << other.error().str();
    ASSERT_EQ(lowered->program.delegates.size(), other->program.delegates.size());
    for (std::size_t i = 0; i < lowered->program.delegates.size(); ++i) {
      const Delegate& a = *lowered->program.delegates[i];
      const Delegate& b = *other->program.delegates[i];
      EXPECT_EQ(content_hash(*a.processed_bytes), content_hash(*b.processed_bytes))
          << "the bytes of " << a.name.str() << " depend on where its constants lie";
      ASSERT_EQ(a.named_data.size(), b.named_data.size());
      for (std::size_t k = 0; k < a.named_data.size(); ++k) {
        EXPECT_EQ(a.named_data[k].key, b.named_data[k].key);
        EXPECT_EQ(content_hash(*a.named_data[k].storage), content_hash(*b.named_data[k].storage))
            << "the data \"" << a.named_data[k].key << "\" depend on where its constants lie";
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
}

void check_canonical_partitioners(const Subject& subject, const std::vector<TestProgram>& programs) {
  for (const TestProgram& given : programs) {
    SCOPED_TRACE(given.name);
    OwnPartitions own = own_partitions(subject, given.program);
    if (own.ops.empty()) continue;
    for (const auto& [name, partitioner] : canonical_partitioners(subject, own)) {
      SCOPED_TRACE(name);
      if (name == "Tagged") {
        check_partitioner(subject, tagged(given.program, own), *partitioner);
      } else {
        check_partitioner(subject, given.program, *partitioner);
      }
    }
  }
}

int expect_same_results(const Program& before, const Program& after) {
  int compared = 0;
  for (std::size_t i = 0; i < before.methods.size(); ++i) {
    std::vector<RuntimeValue> inputs = made_up_inputs(*before.methods[i]);
    if (inputs.empty()) continue;
    ProgramState state_before;
    ProgramState state_after;
    for (int call = 0; call < 2; ++call) {
      auto want = interpret(before, *before.methods[i], inputs, state_before);
      if (!want) break;  // no reference kernel
      auto got = interpret(after, *after.methods[i], inputs, state_after);
      EXPECT_TRUE(got.has_value()) << got.error().str();
      if (!got) return compared;
      EXPECT_EQ(want->size(), got->size());
      for (std::size_t k = 0; k < std::min(want->size(), got->size()); ++k) {
        const auto* data = std::get_if<TensorData>(&(*want)[k]);
        if (data == nullptr) continue;
        EXPECT_EQ(content_hash(*data), content_hash(std::get<TensorData>((*got)[k])));
        ++compared;
      }
    }
  }
  return compared;
}

}  // namespace depute
