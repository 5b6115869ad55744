// Stages of a compilation: only their own functions make them, they do not change, and copies share a program.
#include "depute/compiler/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "depute/backend/backend.h"
#include "depute/backend/partitioners.h"
#include "depute/compiler/compile.h"
#include "depute/program/inspect.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "depute/tools/report.h"
#include "tests/unit/parse.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// True if no caller can make a stage `To` from these types.
template <typename To, typename... From>
constexpr bool cannot_be_made_from = (!std::is_constructible_v<To, From> && ...);

// True if only a function of the compiler can make this stage.
template <typename T>
constexpr bool is_guarded =
    !std::is_default_constructible_v<T> && !std::is_aggregate_v<T> && std::is_copy_constructible_v<T> &&
    std::is_nothrow_move_constructible_v<T> &&
    cannot_be_made_from<T, Program, const Program&, std::shared_ptr<Program>, std::shared_ptr<const Program>,
                        Stage, const Stage&> &&
    !std::is_constructible_v<T, std::shared_ptr<Program>, std::shared_ptr<const QuantizeResult>> &&
    std::is_same_v<decltype(std::declval<T&>().program()), const Program&> &&
    std::is_same_v<decltype(std::declval<T&>().shared_program()), std::shared_ptr<const Program>>;

static_assert(is_guarded<Exported>);
static_assert(is_guarded<Edge>);
static_assert(is_guarded<Delegated>);
static_assert(is_guarded<Executable>);
static_assert(!std::is_constructible_v<Stage, Program> && !std::is_default_constructible_v<Stage>);
static_assert(cannot_be_made_from<Exported, Edge, Delegated, Executable>);
static_assert(cannot_be_made_from<Edge, Exported, Delegated, Executable>);
static_assert(cannot_be_made_from<Delegated, Exported, Edge, Executable>);
static_assert(cannot_be_made_from<Executable, Exported, Edge, Delegated>);
static_assert(!std::is_constructible_v<Executable, Delegated, std::shared_ptr<const Plan>, WriteOptions>);

constexpr const char* mlp_model = "tests/models/samples/mlp.pt2";

std::string text_of(const Stage& stage) {
  return print(stage.program(), {.originals = true, .sources = true});
}

// A backend `name` that takes one op.
BackendEntry backend_for(const std::string& name, const std::string& op) {
  BackendEntry entry;
  entry.name = name;
  entry.backend = std::make_unique<FunctionBackend>(name, [](const Program&) -> Result<PreprocessResult> {
    return PreprocessResult{.processed_bytes = storage_of("payload")};
  });
  entry.make_partitioner = [name, op](const BackendOptions&) -> Result<std::unique_ptr<Partitioner>> {
    return std::make_unique<CapabilityPartitioner>(support_by_op({{op, {}}}),
                                                   ProposeOptions{.owner = name, .spec = {name, {}}});
  };
  return entry;
}

// Has the backends "abs", "neg" and "silu" for these ops.
Compiler small_compiler() {
  Compiler compiler{Registry()};
  for (const char* op : {"abs", "neg", "silu"})
    EXPECT_TRUE(compiler.add(backend_for(op, "aten." + std::string(op) + ".default")).has_value());
  return compiler;
}

Exported small_model(const Compiler& compiler) {
  return must(compiler.load(must(parse_program(R"(program
data "w": f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
method forward(%w: f32[2, 2] = param "w", %x: f32[1, 2]) {
  %a: f32[1, 2] = aten.abs.default(%x)
  %l: f32[1, 2] = aten.linear.default(%a, %w)
  %n: f32[1, 2] = aten.neg.default(%l)
  %s: f32[1, 2] = aten.silu.default(%n)
  return %s
}
)"))));
}

std::size_t count_ops(const Stage& stage, std::string_view op) {
  std::size_t count = 0;
  for (const auto& method : stage.program().methods) {
    for (const Node& node : method->graph->nodes()) count += node.op() == op ? 1 : 0;
  }
  return count;
}

// The addresses of the bytes of all constants.
std::set<const Storage*> storages_of(const Stage& stage) {
  std::set<const Storage*> storages;
  for (const auto& [key, data] : stage.program().data) storages.insert(data.storage.get());
  return storages;
}

// --- values

template <typename T>
void expect_shared(const T& stage) {
  const T copy = stage;
  EXPECT_EQ(copy.shared_program(), stage.shared_program());
  EXPECT_EQ(&copy.program(), &stage.program());
  EXPECT_EQ(&copy.quantized(), &stage.quantized());
  T other = copy;
  const T moved = std::move(other);
  EXPECT_EQ(moved.shared_program(), stage.shared_program());
}

TEST(Stages, CopiesShareOneProgram) {
  const Compiler compiler;
  const LowerOptions options{.backends = {{"xnnpack"}}};
  const Exported exported = must(compiler.load(std::string(mlp_model)));
  const Edge edge = must(compiler.to_edge(exported, options));
  const Delegated delegated = must(compiler.to_backend(edge, options));
  const Executable executable = must(to_executorch(delegated));
  expect_shared(exported);
  expect_shared(edge);
  expect_shared(delegated);
  expect_shared(executable);
  EXPECT_EQ(&Delegated(delegated).normalized(), &delegated.normalized());
  EXPECT_EQ(&Delegated(delegated).rounds(), &delegated.rounds());
  EXPECT_EQ(&Executable(executable).plan(), &executable.plan());
}

// A program lives as long as a stage or a caller holds it.
TEST(Stages, AProgramOutlivesItsStage) {
  const Compiler compiler;
  std::shared_ptr<const Program> held;
  {
    const Exported exported = must(compiler.load(std::string(mlp_model)));
    held = exported.shared_program();
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(print(*held).empty());
}

// Steps get copies, so no step may change the stage that the caller still holds.
void expect_no_change(const Compiler& compiler, const Exported& exported, const LowerOptions& options) {
  const std::string exported_text = text_of(exported);
  const Exported quantized = must(compiler.quantize(exported, options));
  const std::string quantized_text = text_of(quantized);
  const Edge edge = must(compiler.to_edge(quantized, options));
  const std::string edge_text = text_of(edge);
  const Delegated delegated = must(compiler.to_backend(edge, options));
  const std::string delegated_text = text_of(delegated);
  const Delegated again = must(compiler.to_backend(delegated, options));
  const Delegated undelegated = must(lower_undelegated(again));
  const std::string undelegated_text = text_of(undelegated);
  const Delegated with_constant =
      must(add_constants(undelegated, std::vector<ConstantMethod>{{"answer", {std::int64_t{42}}}}));
  EXPECT_EQ(with_constant.program().methods.size(), exported.program().methods.size() + 1);
  const Executable executable = must(to_executorch(with_constant));
  const std::string executable_text = text_of(executable);
  must(write(executable));
  must(compiler.join(exported, {{"again", must(compiler.load(std::string(mlp_model)))}}));

  EXPECT_EQ(text_of(exported), exported_text);
  EXPECT_EQ(text_of(quantized), quantized_text);
  EXPECT_EQ(text_of(edge), edge_text);
  EXPECT_EQ(print(delegated.normalized(), {.originals = true, .sources = true}), edge_text);
  EXPECT_EQ(text_of(delegated), delegated_text);
  EXPECT_EQ(text_of(undelegated), undelegated_text);
  EXPECT_EQ(text_of(executable), executable_text);
}

TEST(Stages, StepsDoNotChangeStagesThatAreHeld) {
  const Compiler compiler;
  const QuantizeRule rule = must(parse_quantize_rule("linear=8da8w"));
  for (const char* model : {mlp_model, "tests/models/samples/multi.pt2", "tests/models/samples/mutbuf.pt2",
                            "tests/models/samples/cond.pt2"}) {
    SCOPED_TRACE(model);
    const Exported exported = must(compiler.load(std::string(model)));
    expect_no_change(compiler, exported, {});
    for (const BackendEntry& backend : compiler.registry().entries())
      if (backend.is_ready()) expect_no_change(compiler, exported, {.backends = {{backend.name}}, .edge_forms = true});
  }
  expect_no_change(compiler, must(compiler.load(std::string(mlp_model))),
                   {.backends = {{"xnnpack"}}, .quantize = {rule}});
}

// The only copy is edited where it is. Otherwise the step edits a clone, which shares the constants.
TEST(Stages, TheOnlyCopyIsEditedInPlace) {
  const Compiler compiler = small_compiler();
  Exported exported = small_model(compiler);
  const Graph* graph = exported.program().methods[0]->graph.get();
  const Edge apart = must(compiler.to_edge(exported));
  EXPECT_NE(apart.program().methods[0]->graph.get(), graph);
  EXPECT_EQ(storages_of(apart), storages_of(exported));
  const Edge in_place = must(compiler.to_edge(std::move(exported)));
  EXPECT_EQ(in_place.program().methods[0]->graph.get(), graph);
  EXPECT_EQ(text_of(in_place), text_of(apart));
}

// A failed step has no effect on the caller's copy.
TEST(Stages, AFailedStepChangesNothing) {
  const Compiler compiler = small_compiler();
  const Exported exported = small_model(compiler);
  const std::string text = text_of(exported);
  const auto fails = [](Program) -> Result<Program> { return failure("mine", "", "not today"); };
  EXPECT_FALSE(compiler.to_edge(exported, {.transforms = {fails}}).has_value());
  EXPECT_FALSE(compiler.lower(exported, {.backends = {{"none"}}}).has_value());
  EXPECT_EQ(text_of(exported), text);
}

// --- rounds

std::vector<std::string> backends_of(const Program& program) {
  std::vector<std::string> ids;
  for (const DelegateCall& call : get_delegates(program)) ids.push_back(call.delegate->backend_id);
  return ids;
}

// Backends in two calls give the same program and report as backends in one call.
TEST(Stages, ADelegatedProgramGoesToFurtherBackends) {
  const Compiler compiler = small_compiler();
  const Edge edge = must(compiler.to_edge(small_model(compiler)));
  const Delegated one = must(compiler.to_backend(edge, {.backends = {{"neg"}}}));
  const Delegated two = must(compiler.to_backend(one, {.backends = {{"abs"}}}));
  EXPECT_THAT(one.rounds(), SizeIs(1));
  EXPECT_THAT(backends_of(one.program()), ElementsAre("neg"));
  EXPECT_THAT(backends_of(two.program()), ElementsAre("abs", "neg"));
  EXPECT_EQ(&one.normalized(), &edge.program());
  EXPECT_EQ(&two.normalized(), &edge.program());

  ASSERT_THAT(two.rounds(), SizeIs(2));
  EXPECT_EQ(two.rounds()[0].before, edge.shared_program());
  EXPECT_EQ(two.rounds()[1].before, one.shared_program());
  EXPECT_EQ(two.rounds()[0].asked.at(Name("forward")), "neg");
  EXPECT_EQ(two.rounds()[1].asked.at(Name("forward")), "abs");
  EXPECT_EQ(two.rounds()[1].decided.verdicts.at(0).delegate, Name("abs0"));

  const Delegated at_once = must(compiler.to_backend(edge, {.backends = {{"neg"}, {"abs"}}}));
  EXPECT_THAT(at_once.rounds(), SizeIs(2));
  EXPECT_EQ(text_of(at_once), text_of(two));
  const Report report = make_report(two);
  EXPECT_EQ(report_json(report), report_json(make_report(at_once)));
  EXPECT_EQ(report.coverage_of("neg"), report.coverage_of("abs"));
  EXPECT_EQ(report.delegated_nodes(), 2u);
}

TEST(Stages, WithoutBackendsThereAreNoRounds) {
  const Compiler compiler = small_compiler();
  const Edge edge = must(compiler.to_edge(small_model(compiler)));
  const Delegated delegated = must(compiler.to_backend(edge, {}));
  EXPECT_THAT(delegated.rounds(), IsEmpty());
  EXPECT_EQ(delegated.shared_program(), edge.shared_program());
}

// --- lower_undelegated

TEST(Stages, UndelegatedNodesAreLoweredOnce) {
  const Compiler compiler = small_compiler();
  const LowerOptions options{.backends = {{"abs"}}, .preserve_ops = {"aten.silu.default"}};
  const Edge edge = must(compiler.to_edge(small_model(compiler), options));
  EXPECT_EQ(count_ops(edge, "aten.silu.default"), 1u);
  const Delegated delegated = must(compiler.to_backend(edge, options));
  EXPECT_EQ(count_ops(delegated, "aten.silu.default"), 1u);

  const Delegated once = must(lower_undelegated(delegated));
  EXPECT_EQ(count_ops(once, "aten.silu.default"), 0u);
  const Delegated twice = must(lower_undelegated(once));
  EXPECT_EQ(twice.shared_program(), once.shared_program());
  EXPECT_EQ(once.rounds().size(), delegated.rounds().size());
  EXPECT_EQ(&once.normalized(), &delegated.normalized());
  const Executable executable = must(to_executorch(once));
  EXPECT_EQ(executable.shared_program(), once.shared_program());
  // to_executorch() lowers the undelegated nodes of a program whose caller did not.
  EXPECT_EQ(text_of(must(to_executorch(delegated))), text_of(once));
}

// Further backends get a program whose undelegated nodes are lowered already.
TEST(Stages, LoweringAfterAnotherRoundChangesNothing) {
  const Compiler compiler = small_compiler();
  const Edge edge = must(compiler.to_edge(small_model(compiler)));
  const Delegated once = must(lower_undelegated(must(compiler.to_backend(edge, {}))));
  const Delegated again = must(compiler.to_backend(once, {}));
  EXPECT_EQ(text_of(must(lower_undelegated(again))), text_of(once));
  const Delegated further = must(compiler.to_backend(once, {.backends = {{"neg"}}}));
  EXPECT_THAT(backends_of(must(lower_undelegated(further)).program()), ElementsAre("neg"));
}

// Constants are methods of the program, whether the undelegated nodes are lowered before or after.
TEST(Stages, ConstantsAreAddedBeforeOrAfterLowering) {
  const Compiler compiler = small_compiler();
  const std::vector<ConstantMethod> constants = {{"answer", {std::int64_t{42}}}};
  const Edge edge = must(compiler.to_edge(small_model(compiler)));
  const Delegated delegated = must(compiler.to_backend(edge, {}));
  const Delegated before = must(lower_undelegated(must(add_constants(delegated, constants))));
  const Delegated after = must(add_constants(must(lower_undelegated(delegated)), constants));
  EXPECT_EQ(text_of(before), text_of(after));
  EXPECT_NE(after.program().find_method("answer"), nullptr);
  EXPECT_EQ(must(add_constants(after, {})).shared_program(), after.shared_program());
  EXPECT_FALSE(add_constants(after, constants).has_value());
}

// --- quantize

TEST(Stages, LayersAreQuantizedOnce) {
  const Compiler compiler;
  const LowerOptions options{.quantize = {must(parse_quantize_rule("linear=8w"))}};
  const Exported exported = must(compiler.load(std::string(mlp_model)));
  EXPECT_THAT(exported.quantized().layers, IsEmpty());
  const Exported quantized = must(compiler.quantize(exported, options));
  const std::size_t layers = quantized.quantized().layers.size();
  EXPECT_GT(layers, 0u);
  EXPECT_EQ(count_ops(quantized, "torchao.dequantize_affine.default"), layers);

  const Edge first = must(compiler.to_edge(quantized, options));
  const Edge direct = must(compiler.to_edge(exported, options));
  for (const Edge* edge : {&first, &direct}) {
    EXPECT_EQ(edge->quantized().layers.size(), layers);
    EXPECT_EQ(text_of(*edge), text_of(first));
  }
  const Delegated delegated = must(compiler.to_backend(first, {}));
  EXPECT_EQ(&delegated.quantized(), &first.quantized());
  EXPECT_EQ(&must(to_executorch(delegated)).quantized(), &first.quantized());
  EXPECT_EQ(make_report(delegated).quantized.layers.size(), layers);
}

// --- to_executorch

constexpr const char* unknown_ops = R"(program
method a(%x: f32[2]) {
  %p: f32[2] = mylib.one.default(%x)
  %q: f32[2] = aten.abs.default(%p)
  %r: f32[2] = mylib.two.default(%q)
  return %r
}
method b(%x: f32[2]) {
  %s: f32[2] = mylib.three.default(%x)
  return %s
}
)";

TEST(Stages, ToExecutorchListsAllRefusals) {
  const Compiler compiler;
  const Delegated lowered = must(compiler.lower(must(compiler.load(must(parse_program(unknown_ops))))));
  std::vector<Refusal> refusals;
  const auto executable = to_executorch(lowered, {}, &refusals);
  ASSERT_FALSE(executable.has_value());
  EXPECT_THAT(executable.error().str(), HasSubstr("mylib.one.default"));
  std::vector<std::string> nodes;
  for (const Refusal& refusal : refusals) {
    ASSERT_NE(refusal.node, nullptr);
    EXPECT_EQ(&refusal.node->graph(), lowered.program().find_method(refusal.method.str())->graph.get());
    nodes.push_back(std::string(refusal.method.str()) + " " + std::string(refusal.node->op().str()));
    EXPECT_EQ(refusal.cause.code, "plan.no-kernel");
  }
  EXPECT_THAT(nodes, ElementsAre("a mylib.one.default", "a mylib.two.default", "b mylib.three.default"));
}

TEST(Stages, ExplainReportsAllRefusals) {
  const Compiler compiler;
  Edge edge = must(compiler.to_edge(must(compiler.load(must(parse_program(unknown_ops))))));
  const Report report = explain(must(compiler.to_backend(std::move(edge), {})));
  std::vector<std::string> nodes;
  for (const RefusalReport& refusal : report.refusals) nodes.emplace_back(refusal.node.str());
  EXPECT_THAT(nodes, ElementsAre("p", "r", "s"));
  EXPECT_FALSE(report.planned.has_value());
  EXPECT_EQ(report.nodes.at(0).owner, "no-kernel");
  EXPECT_EQ(report.nodes.at(1).owner, "portable");

  const Delegated whole = must(compiler.lower(must(compiler.load(std::string(mlp_model)))));
  const Report good = explain(whole);
  EXPECT_THAT(good.refusals, IsEmpty());
  EXPECT_GT(good.planned.value().memory, 0u);
}

// --- write

class StagesFiles : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::vector<std::byte> bytes_of(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    return bytes(std::string{std::istreambuf_iterator<char>(file), {}});
  }
  // Checks that each file has the bytes that write() gave.
  void expect_files(const PteFile& file) const {
    EXPECT_EQ(bytes_of(file.name), file.pte);
    EXPECT_EQ(file.summary.file_bytes, file.pte.size());
    for (const auto& [name, content] : file.external) EXPECT_EQ(bytes_of(name), content) << name;
  }

  const Compiler compiler_;

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("depute_stages" + std::to_string(::getpid()));
};

// write(), write_file() and compile() give the same bytes.
TEST_F(StagesFiles, BytesAreThoseOfCompile) {
  for (const char* backend : {"", "demo", "xnnpack"}) {
    for (const bool with_ptd : {false, true}) {
      SCOPED_TRACE(std::string(backend) + (with_ptd ? " with .ptd" : ""));
      LowerOptions options;
      if (*backend != 0) options.backends = {{backend}};
      const std::vector<DataFile> ptd =
          with_ptd ? std::vector<DataFile>{{path("m.ptd")}} : std::vector<DataFile>{};
      const Delegated lowered = must(compiler_.lower(must(compiler_.load(std::string(mlp_model))), options));
      const Executable executable = must(to_executorch(lowered, {.ptd = ptd}));
      EXPECT_EQ(executable.options().ptd, ptd);
      const PteFile file = must(write(executable, path("m.pte")));
      EXPECT_EQ(file.external.size(), with_ptd ? 1u : 0u);

      const Compiled compiled = must(
          compile(compiler_, {.input = mlp_model, .lower = options, .output = path("m.pte"), .ptd = ptd}));
      expect_files(file);
      EXPECT_EQ(first_difference(compiled.delegated.program(), lowered.program()), std::nullopt);
      EXPECT_EQ(compiled.report.output_bytes, file.pte.size());

      std::filesystem::remove(path("m.pte"));
      const PteFile written = must(write_file(executable, path("m.pte")));
      EXPECT_THAT(written.pte, IsEmpty());
      EXPECT_THAT(written.external, IsEmpty());
      EXPECT_EQ(written.name, file.name);
      EXPECT_EQ(written.summary.file_bytes, file.summary.file_bytes);
      expect_files(file);
    }
  }
}

// The report of the stages has the numbers of compile(), whose report is about the same file.
TEST_F(StagesFiles, ReportsAreThoseOfCompile) {
  const LowerOptions options{.backends = {{"xnnpack"}}};
  Report of_compile =
      must(
          compile(compiler_,
                  {.input = mlp_model, .lower = options, .output = path("m.pte"), .parts = {.splits = true}}))
          .report;
  const Executable executable =
      must(to_executorch(must(compiler_.lower(must(compiler_.load(std::string(mlp_model))), options))));
  const PteFile file = must(write(executable, path("m.pte")));
  Report of_stages = make_report(executable, file, compiler_.registry(), {.splits = true});
  of_stages.input = of_compile.input;
  of_stages.command = of_compile.command;
  of_stages.version = of_compile.version;
  of_stages.date = of_compile.date;
  of_compile.times.clear();
  EXPECT_EQ(report_json(of_stages), report_json(of_compile));
}

// The page has the memory plan and the bytes of the file, if the report is about a file.
TEST_F(StagesFiles, PartsOfReportsAreMadeOnRequest) {
  const LowerOptions options{.backends = {{"xnnpack"}}};
  const Edge edge = must(compiler_.to_edge(must(compiler_.load(std::string(mlp_model))), options));
  EXPECT_EQ(make_report(edge).page, nullptr);
  EXPECT_EQ(make_report(edge).delegated_nodes(), 0u);
  EXPECT_NE(make_report(edge, {.page = true}).page, nullptr);
  const Executable executable = must(to_executorch(must(compiler_.to_backend(edge, options))));
  const PteFile file = must(write(executable));
  EXPECT_EQ(make_report(executable, file, compiler_.registry()).page, nullptr);
  const Report report = make_report(executable, file, compiler_.registry(), {.page = true});
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_THAT(report_html(report), HasSubstr("program.pte"));
}

TEST_F(StagesFiles, AFailedWriteLeavesTheFile) {
  std::ofstream(path("m.pte")) << "old";
  const Edge edge = must(compiler_.to_edge(must(compiler_.load(std::string(mlp_model)))));
  const LowerOptions options{.backends = {{"xnnpack"}}, .without_payloads = true};
  const Executable executable = must(to_executorch(must(compiler_.to_backend(edge, options))));
  EXPECT_FALSE(write(executable).has_value());
  EXPECT_FALSE(write_file(executable, path("m.pte")).has_value());
  EXPECT_EQ(bytes_of(path("m.pte")), bytes("old"));
}

// The bytes of a delegate's weights are the file's as well.
TEST_F(StagesFiles, AModelThatWasWrittenMeanwhileFailsTheWrite) {
  for (const char* backend : {"", "xnnpack"}) {
    SCOPED_TRACE(backend);
    std::filesystem::copy_file(mlp_model, path("m.pt2"), std::filesystem::copy_options::overwrite_existing);
    LowerOptions options;
    if (*backend != 0) options.backends = {{backend}};
    const Executable executable =
        must(to_executorch(must(compiler_.lower(must(compiler_.load(path("m.pt2"))), options))));
    EXPECT_TRUE(write(executable).has_value());
    std::ofstream(path("m.pt2"), std::ios::app) << "more";
    const Result<PteFile> written = write_file(executable, path("m.pte"));
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().message, "the file changed while it was read");
    EXPECT_FALSE(std::filesystem::exists(path("m.pte")));
    EXPECT_FALSE(write(executable).has_value());
  }
}

}  // namespace
}  // namespace depute
