// The compiler as a value: memory and files give the same bytes, and backends and ops belong to one compiler.
#include "depute/compiler/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "depute/backend/backend.h"
#include "depute/backend/backend_op.h"
#include "depute/backend/partitioners.h"
#include "depute/compiler/compile.h"
#include "depute/compiler/normalize.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/inspect.h"
#include "depute/program/op.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "depute/tools/report.h"
#include "tests/unit/parse.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* mlp = "tests/models/samples/mlp.pt2";

std::vector<std::byte> bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return bytes(text);
}

TEST(Compiler, InMemoryGivesTheBytesOfTheFile) {
  const Compiler compiler;
  const std::string output =
      (std::filesystem::temp_directory_path() / ("compiler" + std::to_string(::getpid()) + ".pte")).string();
  for (const BackendEntry& backend : compiler.registry().entries()) {
    SCOPED_TRACE(backend.name);
    if (!backend.is_ready()) continue;
    const LowerOptions options{.backends = {{backend.name}}};
    must(compile(compiler, {.input = mlp, .lower = options, .output = output}));
    const Delegated lowered = must(compiler.lower(must(compiler.load(bytes_of_file(mlp))), options));
    const PteFile file = must(write(must(to_executorch(lowered))));
    EXPECT_EQ(file.pte, bytes_of_file(output));
    EXPECT_TRUE(file.external.empty());
  }
  std::filesystem::remove(output);
}

TEST(Compiler, LoadsFilesAndBytesAlike) {
  const Compiler compiler;
  const Exported of_file = must(compiler.load(std::string(mlp)));
  const Exported of_bytes = must(compiler.load(bytes_of_file(mlp)));
  EXPECT_EQ(first_difference(of_file.program(), of_bytes.program()), std::nullopt);
}

// The caller's memory is used where it lies, as long as the program lives.
TEST(Compiler, LoadsBorrowedBytesWithoutACopy) {
  const Compiler compiler;
  auto owner = std::make_shared<std::vector<std::byte>>(bytes_of_file(mlp));
  std::weak_ptr<std::vector<std::byte>> watch = owner;
  {
    const Exported exported = must(compiler.load(*owner, owner, "mine.pt2"));
    const std::byte* first = owner->data();
    const std::byte* last = first + owner->size();
    owner.reset();
    EXPECT_FALSE(watch.expired());
    for (const auto& [key, data] : exported.program().data) {
      EXPECT_GE(data.dense_bytes().data(), first);
      EXPECT_LT(data.dense_bytes().data(), last);
    }
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Compiler, RefusalsOfBytesNameThem) {
  auto exported = Compiler().load(bytes("program\nmethod f(%x: f32[2) {\n"), "mine.ir");
  ASSERT_FALSE(exported.has_value());
  EXPECT_THAT(exported.error().where, HasSubstr("mine.ir:2"));
  auto empty = Compiler().load(std::vector<std::byte>(), "nothing");
  ASSERT_FALSE(empty.has_value());
  EXPECT_EQ(empty.error().str(), "[read] nothing: the file is empty");
}

TEST(Compiler, RefusesUnsoundPrograms) {
  const auto unsound = [] {
    Program program;
    program.methods.push_back(nullptr);
    return program;
  };
  const auto loaded = Compiler().load(unsound());
  ASSERT_FALSE(loaded.has_value());
  EXPECT_THAT(loaded.error().str(), HasSubstr("methods is null"));
  const auto edge = Compiler().edge(unsound());
  ASSERT_FALSE(edge.has_value());
  EXPECT_THAT(edge.error().str(), HasSubstr("methods is null"));
}

TEST(Compiler, ToExecutorchGivesTheReason) {
  const Compiler compiler;
  Program program =
      must(parse_program("program\nmethod forward(%x: f32[2]) {\n"
                         "  %y: f32[2] = mylib.thing.default(%x)\n  return %y\n}\n"));
  auto executable = to_executorch(must(compiler.lower(must(compiler.load(std::move(program))))));
  ASSERT_FALSE(executable.has_value());
  EXPECT_THAT(executable.error().str(), HasSubstr("mylib.thing.default"));
}

constexpr const char* square = R"(program
method square(%x: none) {
  %m: none = aten.mul.Tensor(%x, %x)
  return %m
}
)";

// A backend `name` that takes its own op NAME.square.default.
BackendEntry squaring(const std::string& name) {
  const std::string op = name + ".square.default";
  BackendEntry entry;
  entry.name = name;
  entry.libraries = {name};
  entry.ops = {{.name = op, .pattern = square}};
  entry.backend =
      std::make_unique<FunctionBackend>(name, [](const Program& program) -> Result<PreprocessResult> {
        return PreprocessResult{.processed_bytes =
                                    storage_of(program.methods[0]->graph->first()->op().str())};
      });
  entry.make_partitioner = [name, op](const BackendOptions&) -> Result<std::unique_ptr<Partitioner>> {
    return std::make_unique<CapabilityPartitioner>(support_by_op({{op, {}}}),
                                                   ProposeOptions{.owner = name, .spec = {name, {}}});
  };
  return entry;
}

constexpr const char* squares =
    "program\nmethod forward(%x: f32[2]) {\n  %y: f32[2] = aten.mul.Tensor(%x, %x)\n  return %y\n}\n";

TEST(Compiler, HasItsOwnBackendsAndOps) {
  Compiler one{Registry()};
  Compiler two{Registry()};
  ASSERT_TRUE(one.add(squaring("chip_a")).has_value());
  ASSERT_TRUE(two.add(squaring("chip_b")).has_value());
  EXPECT_NE(one.registry().ops()->find(Name("chip_a.square.default")), nullptr);
  EXPECT_EQ(two.registry().ops()->find(Name("chip_a.square.default")), nullptr);
  EXPECT_EQ(torch_ops()->find(Name("chip_a.square.default")), nullptr);
  const Delegated lowered = must(one.lower(must(one.load(bytes(squares))), {.backends = {{"chip_a"}}}));
  EXPECT_EQ(lowered.program().delegates.size(), 1u);
  auto refused = two.lower(must(two.load(bytes(squares))), {.backends = {{"chip_a"}}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().str(), HasSubstr("there is no backend 'chip_a'"));
}

// Records belong to the program that uses them: it may outlive its compiler.
TEST(Compiler, ProgramsOutliveTheCompiler) {
  std::optional<Delegated> lowered;
  {
    Compiler compiler{Registry()};
    ASSERT_TRUE(compiler.add(squaring("chip_a")).has_value());
    lowered = must(compiler.lower(must(compiler.load(bytes(squares))), {.backends = {{"chip_a"}}}));
  }
  const Node& own = *lowered->program().delegates.at(0)->original->methods[0]->graph->first();
  ASSERT_NE(own.def(), nullptr);
  EXPECT_EQ(own.def()->backend_op->name, own.op());
}

// All graphs of a program find their records in the table that the program keeps.
void expect_own_records(const Program& program) {
  for (const auto& method : program.methods) {
    EXPECT_EQ(&method->graph->ops(), program.ops.get());
    for (const auto& body : method->bodies) EXPECT_EQ(&body->ops(), program.ops.get());
  }
  for (const auto& delegate : program.delegates) expect_own_records(*delegate->original);
}

TEST(Compiler, ProgramsKeepTheRecordsOfTheirGraphs) {
  for (const char* model : {mlp, "tests/models/samples/cond.pt2"}) {
    const Compiler compiler;
    const LowerOptions options{.backends = {{"xnnpack"}}};
    Exported exported = must(compiler.load(bytes_of_file(model)));
    expect_own_records(exported.program());
    expect_own_records(clone(exported.program()));
    Edge edge = must(Compiler().to_edge(std::move(exported), options));
    expect_own_records(edge.program());
    Delegated delegated = must(Compiler().to_backend(std::move(edge), options));
    EXPECT_FALSE(delegated.program().delegates.empty());
    expect_own_records(delegated.program());
    expect_own_records(must(lower_undelegated(std::move(delegated))).program());
  }
}

// A partitioner that takes the ops of these names.
std::shared_ptr<const Partitioner> taking(const std::string& op, const std::string& backend) {
  return std::make_shared<CapabilityPartitioner>(support_by_op({{op, {}}}),
                                                 ProposeOptions{.owner = "own", .spec = {backend, {}}});
}

TEST(Compiler, AsksPartitionersOfItsCaller) {
  Compiler compiler{Registry()};
  ASSERT_TRUE(compiler.add(squaring("chip_a")).has_value());
  const BackendRequest request{.name = "own", .partitioner = taking("aten.mul.Tensor", "chip_a")};
  const Delegated lowered =
      must(compiler.lower(must(compiler.load(bytes(squares))), {.backends = {request}}));
  ASSERT_EQ(lowered.program().delegates.size(), 1u);
  EXPECT_EQ(lowered.program().delegates[0]->name, "own0");
  EXPECT_EQ(make_report(lowered).nodes.at(0).owner, "own");
  EXPECT_EQ(must(compiler.partitioner(request)), request.partitioner);
  EXPECT_NE(must(compiler.partitioner({.name = "chip_a"})), nullptr);
  EXPECT_FALSE(compiler.partitioner({.name = "chip_b"}).has_value());
  BackendRequest elsewhere = request;
  elsewhere.method = "none";
  EXPECT_FALSE(compiler.lower(must(compiler.load(bytes(squares))), {.backends = {elsewhere}}).has_value());
}

TEST(Compiler, TransformsComeBeforeBackends) {
  Compiler compiler{Registry()};
  ASSERT_TRUE(compiler.add(squaring("chip_a")).has_value());
  const auto renamed = [&](Program program) -> Result<Program> {
    EXPECT_EQ(program.methods[0]->graph->first()->op(), "aten.mul.Tensor");
    return parse_program(
        "program\nmethod forward(%x: f32[2]) {\n  %y: f32[2] = aten.silu.default(%x)\n"
        "  return %y\n}\n");
  };
  const auto fails = [](Program) -> Result<Program> { return failure("mine", "", "not today"); };
  const auto wrong = [](Program program) -> Result<Program> {
    program.methods[0]->inputs.clear();
    return program;
  };
  const BackendRequest request{.name = "own", .partitioner = taking("aten.sigmoid.default", "chip_a")};
  const Delegated lowered = must(
      compiler.lower(must(compiler.load(bytes(squares))), {.backends = {request}, .transforms = {renamed}}));
  EXPECT_EQ(lowered.program().delegates.size(),
            1u);  // silu is normalized again, before the partitioner is asked
  auto refused = compiler.lower(must(compiler.load(bytes(squares))), {.transforms = {renamed, fails}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "not today");
  EXPECT_FALSE(compiler.lower(must(compiler.load(bytes(squares))), {.transforms = {wrong}}).has_value());
}

TEST(Compiler, JoinsMethodsUnderNewNames) {
  const Compiler compiler;
  std::vector<std::pair<std::string, Exported>> methods;
  methods.emplace_back("a", must(compiler.load(bytes(squares))));
  methods.emplace_back("b", must(compiler.load(bytes_of_file(mlp))));
  Exported joined = must(compiler.join(std::move(methods)));
  ASSERT_EQ(joined.program().methods.size(), 2u);
  EXPECT_EQ(joined.program().methods[1]->name, "b");
  methods.clear();
  methods.emplace_back("c", must(compiler.load(bytes(squares))));
  joined = must(compiler.join(std::move(joined), std::move(methods)));
  ASSERT_EQ(joined.program().methods.size(), 3u);
  EXPECT_EQ(joined.program().methods[2]->name, "c");
  EXPECT_FALSE(must(write(must(to_executorch(must(compiler.lower(joined)))))).pte.empty());
  methods.clear();
  methods.emplace_back("a", must(compiler.load(bytes(squares))));
  EXPECT_FALSE(compiler.join(std::move(joined), methods).has_value());
  methods.emplace_back("a", must(compiler.load(bytes(squares))));
  EXPECT_FALSE(compiler.join(std::move(methods)).has_value());
}

TEST(Compiler, DebugMapNamesTheFile) {
  const Compiler compiler;
  const Delegated lowered = must(compiler.lower(must(compiler.load(bytes_of_file(mlp)))));
  EXPECT_THAT(debug_map(must(to_executorch(lowered)), "m.pte"), HasSubstr("\"m.pte\""));
}

TEST(Registry, ABackendTakesThePlaceOfAnother) {
  Registry registry;
  ASSERT_TRUE(registry.add(squaring("chip_a")).has_value());
  const auto mine = [](const Program&) -> Result<PreprocessResult> {
    return PreprocessResult{.processed_bytes = storage_of("mine")};
  };
  EXPECT_FALSE(registry.replace(nullptr).has_value());
  EXPECT_FALSE(registry.replace(std::make_unique<FunctionBackend>("chip_b", mine)).has_value());
  ASSERT_TRUE(registry.replace(std::make_unique<FunctionBackend>("chip_a", mine)).has_value());
  Compiler compiler(std::move(registry));
  const Delegated lowered =
      must(compiler.lower(must(compiler.load(bytes(squares))), {.backends = {{"chip_a"}}}));
  EXPECT_EQ(lowered.program().delegates.at(0)->processed_bytes->size(), 4u);
}

// A program whose ops come from another table gets the records of this compiler.
TEST(Compiler, LowersProgramsOfOtherTables) {
  Compiler compiler{Registry()};
  ASSERT_TRUE(compiler.add(squaring("chip_a")).has_value());
  const LowerOptions options{.backends = {{"chip_a"}}};
  const auto call = [] {
    Program program =
        must(parse_program("program\nmethod forward(%x: f32[2]) {\n"
                           "  %y: f32[2] = chip_a.square.default(%x)\n  return %y\n}\n"));
    EXPECT_EQ(program.methods[0]->graph->first()->def(), nullptr);
    return program;
  };
  const Delegated lowered = must(compiler.lower(must(compiler.load(call())), options));
  ASSERT_EQ(lowered.program().delegates.size(), 1u);
  // A stage of another compiler.
  const Exported exported = must(Compiler().load(call()));
  EXPECT_EQ(must(compiler.lower(exported, options)).program().delegates.size(), 1u);
  const Edge edge = must(Compiler().edge(call()));
  EXPECT_EQ(must(compiler.to_backend(edge, options)).program().delegates.size(), 1u);
}

// lower() gives the same program as the functions that it consists of.
TEST(Compiler, ItsStepsCompose) {
  Compiler compiler{Registry()};
  ASSERT_TRUE(compiler.add(squaring("chip_a")).has_value());
  const LowerOptions options{.backends = {{"chip_a"}}};
  const Delegated whole = must(compiler.lower(must(compiler.load(bytes(squares))), options));

  Exported exported = must(compiler.quantize(must(compiler.load(bytes(squares))), options));
  Edge edge = must(compiler.to_edge(std::move(exported), options));
  Delegated delegated = must(compiler.to_backend(std::move(edge), options));
  delegated = must(lower_undelegated(std::move(delegated)));
  EXPECT_EQ(first_difference(delegated.program(), whole.program()), std::nullopt);
  const Report report = make_report(delegated);
  EXPECT_EQ(report.delegated_nodes(), make_report(whole).delegated_nodes());
  EXPECT_THAT(unmet(report, must(parse_requirements("coverage>=100%,partitions<=1"))), ElementsAre());
}

// The functions on programs, which the steps use, give the same program, too.
TEST(Compiler, FunctionsOnProgramsCompose) {
  Compiler compiler{Registry()};
  ASSERT_TRUE(compiler.add(squaring("chip_a")).has_value());
  const Registry& registry = compiler.registry();
  const Delegated whole =
      must(compiler.lower(must(compiler.load(bytes(squares))), {.backends = {{"chip_a"}}}));

  Program program = must(normalize(clone(must(compiler.load(bytes(squares))).program())));
  const Name op("chip_a.square.default");
  EXPECT_EQ(must(bind_backend_ops(program, registry.ops(), std::span(&op, 1))), 1u);
  auto partitioner = must(make_partitioner(*registry.find("chip_a"), {}));
  Lowered lowered = must(to_backend(program, *partitioner, registry));
  must(expand_backend_ops(lowered.program, BackendOpsToExpand::WithoutKernel));
  program = must(normalize_undelegated(std::move(lowered.program)));
  EXPECT_EQ(first_difference(program, whole.program()), std::nullopt);
}

// edge() and to_backend() bind the backends' ops in a program that normalize() made, in any table of ops.
TEST(Compiler, DelegatesNormalizedPrograms) {
  Compiler compiler{Registry()};
  ASSERT_TRUE(compiler.add(squaring("chip_a")).has_value());
  const LowerOptions options{.backends = {{"chip_a"}}};
  const Delegated whole = must(compiler.lower(must(compiler.load(bytes(squares))), options));

  Program program = must(normalize(clone(must(Compiler().load(bytes(squares))).program())));
  Edge edge = must(compiler.edge(std::move(program)));
  const Delegated lowered = must(lower_undelegated(must(compiler.to_backend(std::move(edge), options))));
  EXPECT_EQ(first_difference(lowered.program(), whole.program()), std::nullopt);
}

TEST(Compiler, ToBackendRefusesUnknownMethods) {
  const Compiler compiler;
  Edge edge = must(compiler.to_edge(must(compiler.load(bytes(squares)))));
  const auto delegated =
      compiler.to_backend(std::move(edge), {.backends = {{.name = "demo", .method = "no"}}});
  ASSERT_FALSE(delegated.has_value());
  EXPECT_THAT(delegated.error().str(), HasSubstr("there is no method 'no'"));
}

// Tags alone say what is delegated: a result may have no verdicts.
class TagsWithoutVerdicts final : public Partitioner {
 public:
  Result<PartitionResult> partition(const Program&, const Method& method) const override {
    PartitionResult result{.partition_tags = {{Name("t"), {"BackendWithDelegateMappingDemo", {}}}}};
    for (const Node& node : method.graph->nodes()) result.node_tags.emplace_back(&node, Name("t"));
    return result;
  }
};

TEST(Compiler, CoverageFollowsFromTags) {
  const BackendRequest own{.name = "own", .partitioner = std::make_shared<TagsWithoutVerdicts>()};
  Program program = must(parse_program(
      "program\nmethod forward(%x: f32[2]) {\n  %y: f32[2] = aten.tan.default(%x) #1\n  return %y\n}\n"));
  const Compiler compiler;
  const Delegated lowered =
      must(compiler.lower(must(compiler.load(std::move(program))), {.backends = {own}}));
  const Report report = make_report(lowered);
  EXPECT_EQ(report.coverage(), 100.0);
  EXPECT_THAT(unmet(report, must(parse_requirements("coverage>=100%"))), ElementsAre());
}

// Sanitizers keep what is freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_memory_told = false;
#else
constexpr bool is_memory_told = true;
#endif

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t whole = 0;
  std::size_t resident = 0;
  file >> whole >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Model number i: sizes, constants and the number of layers differ; names repeat, as those of torch do.
std::string model(int i) {
  std::ostringstream text;
  const int size = 8 + i % 61;
  text << "program\ndata \"w\": f32[" << size << "] = zeros\nmethod forward(%x: f32[" << size << "], %w: f32["
       << size << "] = param \"w\") {\n";
  std::string last = "x";
  for (int layer = 0; layer < 20 + i % 7; ++layer) {
    const std::string next = "v" + std::to_string(layer);
    text << "  %" << next << ": f32[" << size << "] = aten.add.Tensor(%" << last << ", %w)\n";
    last = next;
  }
  text << "  return %" << last << "\n}\n";
  return text.str();
}

TEST(Compiler, AThousandModelsInTurnTakeNoMoreMemoryThanAHundred) {
  std::size_t after_warm_up = 0;
  for (int i = 0; i < 1000; ++i) {
    const Compiler compiler;
    Delegated lowered =
        must(compiler.lower(must(compiler.load(bytes(model(i)))), {.backends = {{"xnnpack"}}}));
    EXPECT_FALSE(must(write(must(to_executorch(std::move(lowered))))).pte.empty());
    if (i == 199) after_warm_up = resident_bytes();
  }
  if (is_memory_told) {
    EXPECT_LT(resident_bytes(), after_warm_up + (std::size_t{1} << 20));
  }
}

}  // namespace
}  // namespace depute
