// Code of others that the compiler calls: whatever it throws, the caller is told who threw, in which function,
// and its words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "depute/backend/partitioner.h"
#include "depute/compiler/compiler.h"
#include "depute/compiler/normalize.h"
#include "depute/compiler/quantize.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "depute/tools/byte_ledger.h"
#include "read/pte.h"
#include "support/guarded.h"
#include "tools/show/show_pte.h"

namespace depute {
namespace {

using ::testing::HasSubstr;

using Throw = std::function<void()>;  // throws, or does nothing

constexpr std::string_view two_calls = R"(program
data "w": f32[2] = [1.0, 2.0]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[2] = aten.silu.default(%x)
  %b: f32[2] = aten.mul.Tensor(%a, %w)
  return %b
}
)";

Program program() {
  return std::move(*parse_program(two_calls));
}

PreprocessResult result_of(std::shared_ptr<const Storage> bytes) {
  return {.processed_bytes = std::move(bytes)};
}

// Each function throws if it is asked to.
struct Faults {
  Throw id, preprocess, multimethod, cache_version, backend_asks, describe, layout;
  Throw make, support, ops, filter, partition, proposal, partitioner_asks, propose_support, worth;
  Throw bytes, named_bytes;
};

void run(const Throw& fault) {
  if (fault) fault();
}

class FaultyBackend final : public Backend {
 public:
  explicit FaultyBackend(Faults faults) : faults_(std::move(faults)) {}

  std::string_view id() const override { return run(faults_.id), "ChipBackend"; }
  Result<PreprocessResult> preprocess(const Program&, std::span<const CompileSpec>) const override {
    run(faults_.preprocess);
    const auto lazy = [](const Throw& fault) {
      return Storage::lazy(4, [fault] { return run(fault), std::vector<std::byte>(4); });
    };
    PreprocessResult result = result_of(lazy(faults_.bytes));
    result.data_store_output.push_back({.key = "k", .storage = lazy(faults_.named_bytes)});
    return result;
  }
  Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                            int jobs) const override {
    run(faults_.multimethod);
    return Backend::preprocess_multimethod(methods, jobs);
  }
  std::string cache_version() const override { return run(faults_.cache_version), "1"; }
  bool is_remote() const override { return run(faults_.backend_asks), false; }
  Result<std::string> describe(std::span<const std::byte>) const override {
    return run(faults_.describe), std::string();
  }
  Result<PayloadLayout> layout(std::span<const std::byte>) const override {
    return run(faults_.layout), PayloadLayout();
  }

 private:
  Faults faults_;
};

class FaultyPartitioner final : public Partitioner {
 public:
  explicit FaultyPartitioner(Faults faults) : faults_(std::move(faults)) {}

  OpsToNotDecompose ops_to_not_decompose(const Program&) const override {
    run(faults_.ops);
    return {.ops = {Name("aten.silu.default")},
            .filter = [fault = faults_.filter](const Node&) { return run(fault), true; }};
  }
  Result<PartitionResult> partition(const Program& program, const Method& method) const override {
    run(faults_.partition);
    DEPUTE_TRY(std::optional<Proposal> wishes, proposal(program, method));
    return propose_partitions(program, method, *wishes);
  }
  // Planned together with others only where partition() does not fail.
  Result<std::optional<Proposal>> proposal(const Program&, const Method&) const override {
    run(faults_.proposal);
    if (faults_.partition) return std::optional<Proposal>();
    Proposal proposal;
    proposal.support = [fault = faults_.propose_support](const Node&) { return run(fault), take(); };
    proposal.options.owner = "chip";
    proposal.options.spec.backend_id = "ChipBackend";
    proposal.options.regions.worth = [fault = faults_.worth](auto) {
      return run(fault), Worth{.gain = 1, .cost = 0};
    };
    return proposal;
  }
  bool is_remote() const override { return run(faults_.partitioner_asks), false; }

 private:
  Faults faults_;
};

BackendEntry entry_of(const Faults& faults) {
  return {.name = "chip",
          .backend = std::make_unique<FaultyBackend>(faults),
          .make_partitioner = [faults](const BackendOptions&) -> Result<std::unique_ptr<Partitioner>> {
            run(faults.make);
            return std::make_unique<FaultyPartitioner>(faults);
          },
          .support = [faults] { return run(faults.support), std::vector<SupportRow>(); }};
}

// The outcome of all steps from load() to write(), and of the tools that read the bytes.
Status lowered(const Faults& faults, LowerOptions options = {}, Program from = program()) {
  Compiler compiler((Registry()));
  DEPUTE_TRY_STATUS(compiler.add(entry_of(faults)));
  if (options.backends.empty()) options.backends = {{.name = "chip"}};
  options.cache = {.store = ::testing::TempDir() + "foreign_code_cache", .max_bytes = 1};
  DEPUTE_TRY(Exported exported, compiler.load(std::move(from)));
  DEPUTE_TRY(Delegated delegated, compiler.lower(std::move(exported), options));
  DEPUTE_TRY(const Executable executable, to_executorch(std::move(delegated)));
  DEPUTE_TRY(const PteFile file, write(executable, "m.pte"));
  DEPUTE_TRY(PteContents contents, read_pte(file.pte, file.name));
  DEPUTE_TRY(std::string shown, pte_text(contents, file.pte, compiler.registry()));
  DEPUTE_TRY(ByteLedger ledger, byte_ledger(file.pte, file.name, compiler.registry()));
  DEPUTE_TRY(std::vector<SupportRow> support, support_matrix(compiler.registry().entries()[0]));
  return {};
}

// By a proposal: what a partitioner proposes is drawn into regions under the options of all backends.
Status lowered_by_proposal(const Faults& faults) {
  return lowered(faults, {.backends = {{.name = "chip", .options = {{"min_nodes", "1"}}}}});
}

Status lowered_by_own_partitioner(const Faults& faults) {
  const auto own = std::make_shared<FaultyPartitioner>(faults);
  return lowered({}, {.backends = {{.name = "mine", .partitioner = own}}});
}

Status lowered_by_to_backend(const Faults& faults) {
  Registry registry;
  DEPUTE_TRY_STATUS(registry.add(entry_of({})));
  DEPUTE_TRY(Lowered lowered, to_backend(program(), FaultyPartitioner(faults), registry));
  return {};
}

// One partition by itself, as a worker preprocesses it.
Status preprocessed(const Faults& faults) {
  Registry registry;
  DEPUTE_TRY_STATUS(registry.add(entry_of(faults)));
  return guarded([&]() -> Status {
    DEPUTE_TRY(PreprocessResult result, registry.entries()[0].backend->preprocess(program(), {}));
    result.processed_bytes->bytes();
    return {};
  });
}

Status normalized(const NormalizeOptions& options) {
  DEPUTE_TRY(Program done, normalize(program(), options));
  return {};
}

Status calibrated(const Throw& fault) {
  LowerOptions options{.progress = [&](auto...) { run(fault); }};
  DEPUTE_TRY(QuantizeRule rule, parse_quantize_rule("static"));
  options.quantize.push_back(std::move(rule));
  options.calibrations.push_back(
      {.arrays = {{"x", make_data<float>(ScalarType::F32, {1, 2}, {1.0F, 2.0F})}}});
  DEPUTE_TRY(Program layer, parse_program(R"(program
data "w": f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
method forward(%w: f32[2, 2] = param "w", %x: f32[1, 2]) {
  %y: f32[1, 2] = aten.linear.default(%x, %w)
  return %y
}
)"));
  return lowered({}, options, std::move(layer));
}

Program with_lazy_weight(const Throw& fault) {
  Program made = program();
  made.data[Name("w")].storage = Storage::lazy(8, [fault] { return run(fault), std::vector<std::byte>(8); });
  return made;
}

// A rule is a function without state.
Throw rule_fault;

Status inferred(const Throw& fault) {
  rule_fault = fault;
  Registry registry;
  BackendEntry entry = entry_of({});
  entry.libraries = {"chip"};
  entry.ops = {{.name = "chip.twice.default",
                .schema = "chip.twice.default(Tensor x) -> Tensor",
                .infer = [](const OpCall& call) -> Result<std::vector<Type>> {
                  return run(rule_fault), std::vector<Type>{call["x"].as_value()->type()};
                }}};
  DEPUTE_TRY_STATUS(registry.add(std::move(entry)));
  DEPUTE_TRY(Program called, parse_program("program\nmethod forward(%x: f32[2]) {\n"
                                           "  %a: f32[2] = chip.twice.default(%x)\n  return %a\n}\n",
                                           "<text>", registry.ops()));
  return verify_input(called);
}

struct Case {
  std::string where;
  std::function<Status(const Throw& fault)> run;
};

// `run` with what throws in one of the functions.
template <typename Run>
Case with(Throw Faults::* member, std::string where, Run run) {
  return {std::move(where), [=](const Throw& fault) {
            Faults faults;
            faults.*member = fault;
            return run(faults);
          }};
}

std::vector<Case> cases() {
  const auto lower = [](const Faults& faults) { return lowered(faults); };
  const auto propose = lowered_by_proposal;
  const auto own = lowered_by_own_partitioner;
  return {
      with(&Faults::id, "id()", lower),
      with(&Faults::make, "backend chip, make_partitioner()", lower),
      with(&Faults::support, "backend chip, support()", lower),
      with(&Faults::ops, "backend chip, ops_to_not_decompose()", lower),
      with(&Faults::filter, "backend chip, filter of ops_to_not_decompose()", lower),
      with(&Faults::partition, "method forward, backend chip, partition()", lower),
      with(&Faults::proposal, "method forward, backend chip, proposal()", propose),
      with(&Faults::propose_support, "backend chip, support of proposal()", propose),
      with(&Faults::worth, "backend chip, worth of proposal()", propose),
      with(&Faults::partitioner_asks, "backend chip, is_remote()", lower),
      with(&Faults::backend_asks, "backend ChipBackend, is_remote()", lower),
      with(&Faults::cache_version, "backend ChipBackend, cache_version()", lower),
      with(&Faults::preprocess,
           "method forward, node a (aten.silu.default), tag chip0, backend ChipBackend, preprocess()", lower),
      with(&Faults::multimethod, "method forward, backend ChipBackend, preprocess_multimethod()", lower),
      with(&Faults::bytes, "backend ChipBackend, processed_bytes", lower),
      with(&Faults::named_bytes, "backend ChipBackend, named data \"k\"", lower),
      with(&Faults::describe, "delegate 0 of forward: backend ChipBackend, describe()", lower),
      with(&Faults::layout, "backend ChipBackend, layout()", lower),
      with(&Faults::preprocess, "backend ChipBackend, preprocess()", preprocessed),
      with(&Faults::bytes, "backend ChipBackend, processed_bytes", preprocessed),
      with(&Faults::ops, "backend mine, ops_to_not_decompose()", own),
      with(&Faults::filter, "backend mine, filter of ops_to_not_decompose()", own),
      with(&Faults::partition, "method forward, backend mine, partition()", own),
      with(&Faults::partition, "method forward, partition()", lowered_by_to_backend),
      with(&Faults::partitioner_asks, "is_remote()", lowered_by_to_backend),
      {"transforms[0]",
       [](const Throw& fault) {
         return lowered({}, {.transforms = {[&](Program given) -> Result<Program> {
                               return run(fault), std::move(given);
                             }}});
       }},
      {"observe",
       [](const Throw& fault) { return lowered({}, {.observe = [&](auto&&...) { run(fault); }}); }},
      {"progress", calibrated},
      {"lazily produced bytes", [](const Throw& fault) { return lowered({}, {}, with_lazy_weight(fault)); }},
      {"filter of ops_to_not_decompose",
       [](const Throw& fault) {
         return normalized(
             {.ops_to_not_decompose = {{.ops = {Name("aten.silu.default")},
                                        .filter = [&](const Node&) { return run(fault), true; }}}});
       }},
      {"observe", [](const Throw& fault) { return normalized({.observe = [&](auto&&...) { run(fault); }}); }},
      {"infer of chip.twice.default", inferred},
  };
}

TEST(ForeignCode, MayBeWhole) {
  for (const Case& each : cases()) {
    const Status done = each.run({});
    EXPECT_TRUE(done.has_value()) << each.where << ": " << done.error().str();
  }
}

TEST(ForeignCode, IsToldByNameWithItsWordsWhenItThrows) {
  for (const Case& each : cases()) {
    const Status done = each.run([] { throw std::runtime_error("the chip is hot"); });
    ASSERT_FALSE(done.has_value()) << each.where;
    EXPECT_THAT(done.error().where, HasSubstr(each.where));
    EXPECT_THAT(done.error().message, "it threw: the chip is hot") << each.where;
    EXPECT_NE(done.error().code, "internal") << each.where;
  }
}

TEST(ForeignCode, MayThrowWhatIsNoException) {
  for (const Case& each : cases()) {
    const Status done = each.run([] { throw 1; });
    ASSERT_FALSE(done.has_value()) << each.where;
    EXPECT_THAT(done.error().where, HasSubstr(each.where));
    EXPECT_THAT(done.error().message, "it threw a value that is not a std::exception") << each.where;
    EXPECT_NE(done.error().code, "internal") << each.where;
  }
}

TEST(ForeignCode, MayRunOutOfMemory) {
  for (const Case& each : cases()) {
    const Status done = each.run([] { throw std::bad_alloc(); });
    ASSERT_FALSE(done.has_value()) << each.where;
    EXPECT_THAT(done.error().where, HasSubstr(each.where));
    EXPECT_EQ(done.error().code, "memory") << each.where;
  }
}

// An error that is returned is no exception.
TEST(ForeignCode, ReturnsErrorsInItsOwnWords) {
  const auto refuse = [](Program) -> Result<Program> { return failure("mine", "there", "no"); };
  const Status done = lowered({}, {.transforms = {refuse}});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().str(), "[mine] there: no");
}

}  // namespace
}  // namespace depute
