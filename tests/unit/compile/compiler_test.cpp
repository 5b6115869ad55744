// The compiler as a value: what is done in memory is what is done with files, and what a compiler has goes
// with it.
#include "depute/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "depute/backend_op.h"
#include "depute/capability_partitioner.h"
#include "depute/equal.h"
#include "depute/function_backend.h"
#include "depute/inspect.h"
#include "depute/normalize.h"
#include "depute/op.h"
#include "depute/parse.h"
#include "depute/to_backend.h"

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

template <typename T>
T must(Result<T> result) {
  EXPECT_TRUE(result.has_value()) << result.error().str();
  return result ? std::move(*result) : T();
}

TEST(Compiler, InMemoryGivesTheBytesOfTheFile) {
  const Compiler compiler;
  const std::string output =
      (std::filesystem::temp_directory_path() / ("compiler" + std::to_string(::getpid()) + ".pte")).string();
  for (const BackendEntry& backend : compiler.registry().entries()) {
    SCOPED_TRACE(backend.name);
    const LowerOptions options{.backends = {{backend.name}}};
    must(compiler.compile({.input = mlp, .lower = options, .output = output}));
    Program program = must(compiler.load(bytes_of_file(mlp)));
    Compiled compiled = must(compiler.lower(std::move(program), options));
    PteBytes emitted = must(compiler.emit(compiled.program));
    EXPECT_EQ(emitted.pte, bytes_of_file(output));
    EXPECT_TRUE(emitted.external.empty());
  }
  std::filesystem::remove(output);
}

TEST(Compiler, LoadsFilesAndBytesAlike) {
  const Compiler compiler;
  Program of_file = must(compiler.load(std::string(mlp)));
  Program of_bytes = must(compiler.load(bytes_of_file(mlp)));
  EXPECT_EQ(first_difference(of_file, of_bytes), std::nullopt);
}

// The caller's memory is used where it lies, as long as the program lives.
TEST(Compiler, LoadsBorrowedBytesWithoutACopy) {
  const Compiler compiler;
  auto owner = std::make_shared<std::vector<std::byte>>(bytes_of_file(mlp));
  std::weak_ptr<std::vector<std::byte>> watch = owner;
  {
    Program program = must(compiler.load(*owner, owner, "mine.pt2"));
    const std::byte* first = owner->data();
    const std::byte* last = first + owner->size();
    owner.reset();
    EXPECT_FALSE(watch.expired());
    for (const auto& [key, data] : program.data) {
      EXPECT_GE(data.dense_bytes().data(), first);
      EXPECT_LT(data.dense_bytes().data(), last);
    }
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Compiler, RefusalsOfBytesNameThem) {
  auto program = Compiler().load(bytes("program\nmethod f(%x: f32[2) {\n"), "mine.ir");
  ASSERT_FALSE(program.has_value());
  EXPECT_THAT(program.error().where, HasSubstr("mine.ir:2"));
  auto empty = Compiler().load(std::vector<std::byte>(), "nothing");
  ASSERT_FALSE(empty.has_value());
  EXPECT_EQ(empty.error().str(), "[read] nothing: the file is empty");
}

TEST(Compiler, LowerRefusesWhatIsNotSound) {
  Program program;
  program.methods.push_back(nullptr);
  auto lowered = Compiler().lower(std::move(program));
  ASSERT_FALSE(lowered.has_value());
  EXPECT_THAT(lowered.error().str(), HasSubstr("methods is null"));
}

TEST(Compiler, EachStepRefusesWhatIsNotSound) {
  auto unsound = [] {
    Program program;
    program.methods.push_back(nullptr);
    return program;
  };
  auto left = lower_undelegated(unsound());
  ASSERT_FALSE(left.has_value());
  EXPECT_THAT(left.error().str(), HasSubstr("methods is null"));
  auto emitted = Compiler().emit(unsound());
  ASSERT_FALSE(emitted.has_value());
  EXPECT_THAT(emitted.error().str(), HasSubstr("methods is null"));
}

TEST(Compiler, EmitRefusesWithTheReason) {
  const Compiler compiler;
  Program program =
      must(parse_program("program\nmethod forward(%x: f32[2]) {\n"
                         "  %y: f32[2] = mylib.thing.default(%x)\n  return %y\n}\n"));
  auto emitted = compiler.emit(program);
  ASSERT_FALSE(emitted.has_value());
  EXPECT_THAT(emitted.error().str(), HasSubstr("mylib.thing.default"));
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
  Compiled lowered = must(one.lower(must(one.load(bytes(squares))), {.backends = {{"chip_a"}}}));
  EXPECT_EQ(lowered.program.delegates.size(), 1u);
  auto refused = two.lower(must(two.load(bytes(squares))), {.backends = {{"chip_a"}}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().str(), HasSubstr("there is no backend 'chip_a'"));
}

// Records belong to the program that uses them: it may outlive its compiler.
TEST(Compiler, ProgramsOutliveTheCompiler) {
  Compiled lowered;
  {
    Compiler compiler{Registry()};
    ASSERT_TRUE(compiler.add(squaring("chip_a")).has_value());
    lowered = must(compiler.lower(must(compiler.load(bytes(squares))), {.backends = {{"chip_a"}}}));
  }
  const Node& own = *lowered.program.delegates.at(0)->original->methods[0]->graph->first();
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
    Program program = must(compiler.load(bytes_of_file(model)));
    expect_own_records(program);
    expect_own_records(clone(program));
    Compiled lowered = must(Compiler().lower(std::move(program), {.backends = {{"xnnpack"}}}));
    EXPECT_FALSE(lowered.program.delegates.empty());
    expect_own_records(lowered.program);
    expect_own_records(must(lower_undelegated(std::move(lowered.program))));
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
  Compiled lowered = must(compiler.lower(must(compiler.load(bytes(squares))), {.backends = {request}}));
  ASSERT_EQ(lowered.program.delegates.size(), 1u);
  EXPECT_EQ(lowered.program.delegates[0]->name, "own0");
  EXPECT_EQ(lowered.report.nodes.at(0).owner, "own");
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
  Compiled lowered = must(
      compiler.lower(must(compiler.load(bytes(squares))), {.backends = {request}, .transforms = {renamed}}));
  EXPECT_EQ(lowered.program.delegates.size(),
            1u);  // silu is normalized again, before the partitioner is asked
  auto refused = compiler.lower(must(compiler.load(bytes(squares))), {.transforms = {renamed, fails}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "not today");
  EXPECT_FALSE(compiler.lower(must(compiler.load(bytes(squares))), {.transforms = {wrong}}).has_value());
}

TEST(Compiler, JoinsMethodsUnderNewNames) {
  const Compiler compiler;
  std::vector<std::pair<std::string, Program>> methods;
  methods.emplace_back("a", must(compiler.load(bytes(squares))));
  methods.emplace_back("b", must(compiler.load(bytes_of_file(mlp))));
  Program joined = must(compiler.join(std::move(methods)));
  ASSERT_EQ(joined.methods.size(), 2u);
  EXPECT_EQ(joined.methods[1]->name, "b");
  EXPECT_FALSE(must(compiler.emit(must(compiler.lower(std::move(joined))).program)).pte.empty());
  methods.clear();
  methods.emplace_back("a", must(compiler.load(bytes(squares))));
  methods.emplace_back("a", must(compiler.load(bytes(squares))));
  EXPECT_FALSE(compiler.join(std::move(methods)).has_value());
}

TEST(Compiler, TellsTheDebugMapOfItsBytes) {
  const Compiler compiler;
  Compiled lowered = must(compiler.lower(must(compiler.load(bytes_of_file(mlp)))));
  EXPECT_THAT(must(compiler.debug_map(lowered.program, {}, "m.pte")), HasSubstr("\"m.pte\""));
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
  Compiled lowered = must(compiler.lower(must(compiler.load(bytes(squares))), {.backends = {{"chip_a"}}}));
  EXPECT_EQ(lowered.program.delegates.at(0)->processed_bytes->size(), 4u);
}

// A program that another compiler loaded is read with this one's records.
TEST(Compiler, LowersProgramsOfOthers) {
  Compiler compiler{Registry()};
  ASSERT_TRUE(compiler.add(squaring("chip_a")).has_value());
  Program program =
      must(parse_program("program\nmethod forward(%x: f32[2]) {\n"
                         "  %y: f32[2] = chip_a.square.default(%x)\n  return %y\n}\n"));
  EXPECT_EQ(program.methods[0]->graph->first()->def(), nullptr);
  Compiled lowered = must(compiler.lower(std::move(program), {.backends = {{"chip_a"}}}));
  ASSERT_EQ(lowered.program.delegates.size(), 1u);
}

// The steps that lower() is made of, one by one, give what it gives.
TEST(Compiler, ItsStepsCompose) {
  Compiler compiler{Registry()};
  ASSERT_TRUE(compiler.add(squaring("chip_a")).has_value());
  const Registry& registry = compiler.registry();
  Compiled whole = must(compiler.lower(must(compiler.load(bytes(squares))), {.backends = {{"chip_a"}}}));

  Program program = must(normalize(must(compiler.load(bytes(squares)))));
  const Name op("chip_a.square.default");
  EXPECT_EQ(must(bind_backend_ops(program, registry.ops(), std::span(&op, 1))), 1u);
  Report report = make_report(program);
  auto partitioner = must(make_partitioner(*registry.find("chip_a"), {}));
  Lowered lowered = must(to_backend(program, *partitioner, registry));
  add_verdicts(report, "chip_a", lowered.verdicts);
  program = must(lower_undelegated(std::move(lowered.program)));
  add_delegates(report, program);
  EXPECT_EQ(first_difference(program, whole.program), std::nullopt);
  EXPECT_EQ(report.delegated_nodes(), whole.report.delegated_nodes());
  EXPECT_THAT(unmet(report, must(parse_requirements("coverage>=100%,partitions<=1"))), ElementsAre());
}

// The same with the step between them that binds the ops and asks the backend, in any table of ops.
TEST(Compiler, HandsOverWhatWasNormalized) {
  Compiler compiler{Registry()};
  ASSERT_TRUE(compiler.add(squaring("chip_a")).has_value());
  const LowerOptions options{.backends = {{"chip_a"}}};
  Compiled whole = must(compiler.lower(must(compiler.load(bytes(squares))), options));

  Program program = must(normalize(must(Compiler().load(bytes(squares)))));
  Report report = make_report(program);
  Compiled given = must(compiler.hand_over({std::move(program), std::move(report)}, options));
  program = must(lower_undelegated(std::move(given.program)));
  EXPECT_EQ(first_difference(program, whole.program), std::nullopt);
}

TEST(Compiler, HandsOverNothingOfMethodsThatAreNotThere) {
  Program program = must(normalize(must(Compiler().load(bytes(squares)))));
  Compiled normalized{std::move(program), {}};
  const auto given =
      Compiler().hand_over(std::move(normalized), {.backends = {{.name = "demo", .method = "no"}}});
  ASSERT_FALSE(given.has_value());
  EXPECT_THAT(given.error().str(), HasSubstr("there is no method 'no'"));
  Program unsound;
  unsound.methods.push_back(nullptr);
  EXPECT_FALSE(Compiler().hand_over({std::move(unsound), {}}).has_value());
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
  const Compiled lowered = must(Compiler().lower(std::move(program), {.backends = {own}}));
  EXPECT_EQ(lowered.report.coverage(), 100.0);
  EXPECT_THAT(unmet(lowered.report, must(parse_requirements("coverage>=100%"))), ElementsAre());
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
    Compiled lowered =
        must(compiler.lower(must(compiler.load(bytes(model(i)))), {.backends = {{"xnnpack"}}}));
    EXPECT_FALSE(must(compiler.emit(lowered.program)).pte.empty());
    if (i == 199) after_warm_up = resident_bytes();
  }
  if (is_memory_told) {
    EXPECT_LT(resident_bytes(), after_warm_up + (std::size_t{1} << 20));
  }
}

}  // namespace
}  // namespace depute
