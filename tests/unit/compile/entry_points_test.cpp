// The border of the library: whatever a caller gives, and whatever fails inside, comes back as a Diagnostic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>

#include "depute/backend/partitioners.h"
#include "depute/compiler/compile.h"
#include "depute/compiler/compiler.h"
#include "depute/compiler/normalize.h"
#include "depute/compiler/to_backend.h"
#include "lower/delegate_parts.h"
#include "plan/plan.h"
#include "support/check.h"
#include "support/guarded.h"
#include "tests/unit/parse.h"
#include "write/write_pte.h"

namespace depute {
namespace {

using ::testing::HasSubstr;

std::string output_path() {
  return (std::filesystem::temp_directory_path() /
          ("depute_entry_points" + std::to_string(::getpid()) + ".pte"))
      .string();
}

// The outcome of each entry point for the program that `make` returns: "done", or its error.
template <typename Make>
std::vector<std::string> answers(Make&& make) {
  Registry registry = make_registry();
  WholeProgramPartitioner partitioner("all", {"BackendWithDelegateMappingDemo", {}});
  MethodPartitioners by_method = {{"forward", &partitioner}};
  std::vector<std::string> texts;
  auto note = [&](const auto& result) { texts.push_back(result ? "done" : result.error().str()); };
  note(normalize(make()));
  note(normalize_undelegated(make()));
  note(to_backend(make(), partitioner, registry));
  note(to_backend(make(), by_method, registry));
  const Program constant = make();
  note(to_backend(constant, partitioner, registry));
  note(to_backend(constant, by_method, registry));
  note(to_backend("BackendWithDelegateMappingDemo", constant, {}, registry));
  const Compiler compiler;
  note(compiler.load(make()));
  note(compiler.edge(make()));
  return texts;
}

TEST(EntryPoints, RefuseAProgramThatIsNotSound) {
  auto null_method = [] {
    Program program;
    program.methods.push_back(nullptr);
    return program;
  };
  EXPECT_THAT(answers(null_method), testing::Each(HasSubstr("methods is null")));
  auto no_data = [] {
    Program program;
    Method& method = program.add_method(Name("forward"));
    Value* weight = method.graph->add_input(Name("w"), tensor_type(make_tensor(ScalarType::F32, {2})));
    method.inputs.push_back({.kind = InputSpec::Kind::Parameter, .target = Name("w")});
    Argument outputs[] = {Argument::of(weight)};
    method.graph->set_outputs(outputs);
    method.outputs.emplace_back();
    return program;
  };
  EXPECT_THAT(answers(no_data), testing::Each(HasSubstr("no data \"w\"")));
}

Result<PteFile> write_delegated(Delegated delegated) {
  DEPUTE_TRY(const Executable executable, to_executorch(std::move(delegated)));
  return write(executable);
}

Result<PteFile> write_program(Program program, const LowerOptions& options = {}) {
  const Compiler compiler;
  DEPUTE_TRY(Exported exported, compiler.load(std::move(program)));
  DEPUTE_TRY(Delegated delegated, compiler.lower(std::move(exported), options));
  return write_delegated(std::move(delegated));
}

TEST(EntryPoints, CompileNeedsAProgram) {
  auto compiled = compile(Compiler(), {});
  ASSERT_FALSE(compiled.has_value());
  EXPECT_EQ(compiled.error().code, "usage");
}

TEST(EntryPoints, UndelegatedMayHaveBranchesOfOneBody) {
  Program program = parse(R"(program
method forward(%p: bool[], %x: f32[2]) {
  graph @both(%a: f32[2]) {
    %s: f32[2] = aten.add.Tensor(%a, 1)
    return %s
  }
  %y: f32[2] = higher_order.cond(%p, @both, @both, [%x])
  return %y
}
)");
  const Compiler compiler;
  auto edge = compiler.edge(std::move(program));
  ASSERT_TRUE(edge.has_value()) << edge.error().str();
  auto delegated = compiler.to_backend(*std::move(edge), {});
  ASSERT_TRUE(delegated.has_value()) << delegated.error().str();
  auto lowered = lower_undelegated(*std::move(delegated));
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(lowered->program().methods[0]->bodies.size(), 2u);
  EXPECT_TRUE(write_delegated(*std::move(lowered)).has_value());
}

TEST(EntryPoints, ElidedBytesAreRefused) {
  const auto elided = [] {
    return parse(R"(program
data "w": f32[2] = elided(8, "xxh3:00000000000000000000000000000001")
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %y: f32[2] = aten.add.Tensor(%x, %w)
  return %y
}
)");
  };
  const std::string message = " data \"w\": the program text omits the bytes of the constant";
  const auto loaded = Compiler().load(elided());
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().str(), "[read]" + message);
  const Program program = elided();
  const auto plan = make_plan(program);
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  const auto refused = write_pte(program, *plan, output_path());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().str(), "[write_pte]" + message);
}

TEST(EntryPoints, ElidedBytesOfDelegatesAreNotWritten) {
  const std::string elided = "elided(9, \"xxh3:33119477ede5dcd5e9716427681d5860\")\n";
  const std::string method =
      "method forward(%x: f32[2]) {\n  %y: f32[2] = delegate.call(@d, %x)\n  return %y\n}\n";
  const std::string inner = "blob \"\"\ndata \"k\" = " + elided;
  for (const std::string& parts :
       {"blob " + elided, inner,
        "blob \"\"\noriginal {\ndelegate d backend \"B\" {\n" + inner + "}\n" + method + "}\n"}) {
    const auto file = write_program(parse("program\ndelegate d backend \"A\" {\n" + parts + "}\n" + method));
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().str(), "[write_pte] delegate d: the program text omits bytes of its payload")
        << parts;
  }
}

TEST(EntryPoints, DelegatesWithoutPayloadAreNotWritten) {
  const auto file = write_program(parse("program\nmethod forward(%x: f32[2]) {\n"
                                        "%y: f32[2] = aten.tan.default(%x)\nreturn %y\n}"),
                                  {.backends = {{"demo"}}, .without_payloads = true});
  ASSERT_FALSE(file.has_value());
  EXPECT_THAT(file.error().str(), HasSubstr("delegate demo0: it has no payload"));
}

TEST(EntryPoints, TheLastDebugHandleHasNoneBehindIt) {
  const Registry registry = make_registry();
  const WholeProgramPartitioner partitioner("all", {"BackendWithDelegateMappingDemo", {}});
  auto lower = [&](const std::string& handle) {
    return to_backend(parse("program\nmethod forward(%x: f32[2]) {\n%y: f32[2] = aten.tan.default(%x) #" +
                            handle + "\nreturn %y\n}"),
                      partitioner, registry);
  };
  auto lowered = lower("4294967294");
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(lowered->program.methods[0]->graph->first()->debug_handle, 4294967295u);
  auto refused = lower("4294967295");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("1 more debug handles are needed after 4294967295"));
}

TEST(EntryPoints, RefuseAnAlignmentThatIsAFileOfPadding) {
  Program program = parse("program\nmethod forward(%x: f32[2]) {\nreturn %x\n}");
  auto delegate = std::make_unique<Delegate>(
      Delegate{.name = Name("d"), .backend_id = "A", .processed_bytes = Storage::owned({})});
  delegate->named_data.push_back(
      {.key = "k", .storage = Storage::owned({std::byte{1}}), .alignment = std::size_t{1} << 31});
  program.delegates.push_back(std::move(delegate));
  auto file = write_program(clone(program));
  ASSERT_FALSE(file.has_value());
  EXPECT_THAT(
      file.error().message,
      HasSubstr("the alignment 2147483648 of named data \"k\" must be a power of two from 1 to 16777216"));
  program.delegates[0]->named_data[0].alignment = max_alignment;
  EXPECT_TRUE(write_program(std::move(program)).has_value());
}

TEST(EntryPoints, RefuseOpsOfTheCompilersOwn) {
  for (const char* call :
       {"control.end_if()", "control.set(%x, %x)", "delegate.call(%x)", "depute.masked(%x)"}) {
    auto make = [&] {
      return parse("program\nmethod forward(%x: f32[2]) {\n" + std::string(call) + "\nreturn %x\n}");
    };
    EXPECT_THAT(answers(make), testing::Each(HasSubstr("[verify] method forward"))) << call;
  }
}

// Lowers a program that is neither verified nor normalized to XNNPACK.
Result<Lowered> delegated_unverified(const Program& program) {
  const Registry registry = make_registry();
  DEPUTE_TRY(auto partitioner, registry.find("xnnpack")->make_partitioner({}));
  ResultCache cache;
  return delegate_parts(program, {{"forward", partitioner.get()}}, registry, {}, cache);
}

// Calls that fit their schema and still cannot be run.
TEST(EntryPoints, XnnpackRefusesDimensionsThatAreNotThere) {
  for (const char* call :
       {"aten.mean.dim(%x, [-1, 2147483648])", "aten.mean.dim(%x, [9, 8], true)",
        "aten.amax.default(%x, [7])", "aten.permute.default(%x, [0, 1, 2, 99])",
        "aten.permute.default(%x, [0])", "aten.cat.default([%x, %x], 9)",
        "aten._softmax.default(%x, 2147483648, false)", "aten.slice.Tensor(%x, 99, 0, 1)",
        "aten.select.int(%x, -99, 0)", "aten.unsqueeze.default(%x, 99)", "aten.expand.default(%x, [2])",
        "aten.repeat.default(%x, [2])", "aten.constant_pad_nd.default(%x, [1])",
        "aten.avg_pool2d.default(%x, [2, 2, 2])", "aten.max_pool2d.default(%x, [])"}) {
    for (const char* size : {"4", "s0"}) {
      Program program = parse(std::string("program\ndim s0 in [1, 9]\nmethod forward(%x: f32[2, 3, 4, ") +
                              size + "]) {\n%y: f32[2, 3, 4, " + size + "] = " + call + "\nreturn %y\n}");
      auto lowered = delegated_unverified(program);
      EXPECT_TRUE(lowered.has_value()) << call << ": " << lowered.error().str();
      EXPECT_TRUE(!lowered || lowered->program.delegates.empty()) << call;
    }
  }
}

// Sizes that divide nothing, and results whose types are not those of the op.
TEST(EntryPoints, XnnpackRefusesWhatItWouldDivideByZero) {
  const std::string weight =
      "data \"w\": f32[4, 3, 1, 1] = zeros\nmethod forward(%w: f32[4, 3, 1, 1] = param \"w\", ";
  const std::string convolution =
      weight +
      "%x: f32[1, 3, 2, 2]) {\n%y: f32[1, 4, 2, 2] = aten.convolution.default(%x, %w, none, [1, 1], [0, 0], "
      "[1, 1], ";
  for (const std::string& text :
       {convolution + "false, [0, 0], 0)", convolution + "true, [0, 0], 0)",
        convolution + "false, [0, 0], 4294967296)", convolution + "false, [0, 0], 2)",
        std::string("method forward(%x: f32[1, 3, 4, 4]) {\n"
                    "%y: f32[1, 3, 0, 0] = aten._adaptive_avg_pool2d.default(%x, [0, 0])"),
        std::string("method forward(%x: f32[1, 3, 0, 0]) {\n"
                    "%y: f32[1, 3, 8, 8] = aten.upsample_nearest2d.vec(%x, [8, 8], none)"),
        std::string("method forward(%x: f32[1, 3, 4, 4]) {\n%y: f32[] = aten.slice.Tensor(%x, 3, 0, 2)"),
        std::string("method forward(%x: f32[1, 3, 4, 4]) {\n%y: f32[] = aten.mean.dim(%x, [2, 3])")}) {
    Program program = parse("program\n" + text + "\nreturn %y\n}");
    auto lowered = delegated_unverified(program);
    ASSERT_TRUE(lowered.has_value()) << text << ": " << lowered.error().str();
    EXPECT_TRUE(lowered->program.delegates.empty()) << text;
  }
}

// A delegate that was printed without its own program, and without its bytes: the report takes it, no file.
TEST(EntryPoints, CompileTakesADelegateWithoutBytes) {
  const std::string path = output_path() + ".ir";
  auto write = [&](const std::string& blob) {
    std::ofstream(path) << "program\ndelegate d backend \"Other\" {\n" + blob + "}\n" +
                               "method forward(%x: f32[4]) {\n  %y: f32[4] = delegate.call(@d, %x)\n" +
                               "  return %y\n}\n";
  };
  write("");
  CompileOptions options;
  options.input = path;
  options.reports = {output_path() + ".json"};
  auto reported = compile(Compiler(), options);
  ASSERT_TRUE(reported.has_value()) << reported.error().str();
  EXPECT_EQ(reported->report.delegates.at(0).blob_bytes, 0u);
  options.output = output_path();
  auto refused = compile(Compiler(), options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().str(), HasSubstr("delegate d: it has no payload"));
  write("blob \"\"\n");
  options.debug_map = output_path() + ".map";
  auto compiled = compile(Compiler(), options);
  ASSERT_TRUE(compiled.has_value()) << compiled.error().str();
  EXPECT_EQ(compiled->report.delegates.at(0).blob_bytes, 0u);
  for (const std::string& file : {path, options.output, options.reports[0], options.debug_map})
    std::filesystem::remove(file);
}

// A program that adds a constant of these bytes.
Program with_constant(std::shared_ptr<const Storage> storage) {
  Program program = parse(
      "program\ndata \"w\": f32[4] = zeros\n"
      "method forward(%w: f32[4] = param \"w\", %x: f32[4]) {\n"
      "  %y: f32[4] = aten.mul.Tensor(%x, %w)\n  return %y\n}");
  program.data[Name("w")].storage = std::move(storage);
  return program;
}

Result<PteFile> write_to_file(Program program, int jobs) {
  const Compiler compiler;
  DEPUTE_TRY(Exported exported, compiler.load(std::move(program)));
  DEPUTE_TRY(Delegated delegated, compiler.lower(std::move(exported)));
  DEPUTE_TRY(const Executable executable, to_executorch(std::move(delegated), {.jobs = jobs}));
  return write_file(executable, output_path());
}

TEST(EntryPoints, MakeABrokenCheckADiagnostic) {
  Plan plan;
  plan.constants.push_back(
      {.type = make_tensor(ScalarType::F32, {4}), .storage = Storage::owned(std::vector<std::byte>(3))});
  auto written =
      write_pte(parse("program\nmethod forward(%x: f32[2]) {\n  return %x\n}"), plan, output_path());
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, "internal");
  EXPECT_THAT(written.error().message, HasSubstr("CHECK("));
  EXPECT_FALSE(std::filesystem::exists(output_path()));
}

TEST(EntryPoints, ToldBytesThatAreNotAsManyAsPromised) {
  for (int jobs : {1, 4}) {
    auto written =
        write_to_file(with_constant(Storage::lazy(16, [] { return std::vector<std::byte>(3); })), jobs);
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().code, "data");
    EXPECT_EQ(written.error().message, "3 bytes produced, 16 promised");
    EXPECT_FALSE(std::filesystem::exists(output_path()));
  }
}

TEST(EntryPoints, MakeAWantOfMemoryADiagnostic) {
  for (int jobs : {1, 4}) {
    auto written = write_to_file(
        with_constant(Storage::lazy(16, []() -> std::vector<std::byte> { throw std::bad_alloc(); })), jobs);
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().code, "memory");
    written = write_to_file(
        with_constant(Storage::lazy(
            16, [] { return std::vector<std::byte>(std::vector<std::byte>().max_size() + 1); })),
        jobs);
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().code, "memory");
  }
}

TEST(EntryPoints, MakeOtherExceptionsADiagnostic) {
  auto outcome = guarded([]() -> Status { throw std::out_of_range("map::at"); });
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, "internal");
  EXPECT_EQ(outcome.error().message, "map::at");
  EXPECT_THROW((void)guarded([]() -> Status { throw 1; }), int);
}

}  // namespace
}  // namespace depute
