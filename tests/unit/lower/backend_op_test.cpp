// Backend ops: libraries, registration, binding, types, what they stand for, and emission.
#include "depute/backend/backend_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/backend/backend.h"
#include "depute/program/interpret.h"
#include "depute/program/op.h"
#include "ir/verify.h"
#include "lowering_testing.h"
#include "tests/unit/parse.h"
#include "tests/unit/refusal_log.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view mul_relu = R"(program
method mul_relu(%a: none, %b: none) {
  %m: none = aten.mul.Tensor(%a, %b)
  %r: none = aten.relu.default(%m)
  return %r
}
)";

constexpr std::string_view model = R"(program
method forward(%x: f32[2, 3], %y: f32[3]) {
  %m: f32[2, 3] = aten.mul.Tensor(%x, %y) #1 from "model.py":2
  %r: f32[2, 3] = aten.relu.default(%m) #2 from "model.py":3
  %t: f32[2, 3] = aten.tan.default(%r) #3
  return %t
}
)";

// The table that all tests here add to, each its own names.
const std::shared_ptr<BackendOps>& ops() {
  static const auto all = std::make_shared<BackendOps>();
  return all;
}

Program parse_call(std::string_view text) {
  return parse(text, ops());
}

Name registered(const std::string& name, std::string_view pattern = mul_relu,
                const std::string& kernel = "") {
  EXPECT_TRUE(ops()->add_library("unit_test").has_value());
  Status status = ops()->add({.name = name, .pattern = std::string(pattern), .kernel = kernel});
  EXPECT_TRUE(status.has_value()) << status.error().str();
  return Name(name);
}

std::string refusal(const BackendOpSpec& spec) {
  Status status = ops()->add(spec);
  if (!is_refused(status)) return "accepted";
  EXPECT_TRUE(status.error().code == "to_backend.bad-backend-op" || status.error().code == "pattern")
      << status.error().code;
  return status.error().str();
}

TEST(BackendOp, LibrariesOfTheStart) {
  std::vector<std::string> libraries = ops()->libraries();
  libraries.resize(3);
  EXPECT_THAT(libraries, ElementsAre("executorch_prim", "quantized_decomposed", "DO_NOT_USE_TEST_ONLY"));
}

TEST(BackendOp, HasASchemaAndIsFoundWithItsPattern) {
  Name name = registered("unit_test.found.default");
  const BackendOp* op = ops()->find_backend_op(name);
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->schema, "unit_test.found.default(Tensor a, Tensor b) -> Tensor");
  EXPECT_EQ(op_names(*op->pattern->method().graph), "aten.mul.Tensor;aten.relu.default;");
  EXPECT_NE(ops()->find(name), nullptr);
  EXPECT_EQ(ops()->find_backend_op(Name("aten.relu.default")), nullptr);
}

TEST(BackendOp, TakesThePlaceOfItsPattern) {
  Name name = registered("unit_test.bound.default");
  Program program = parse_call(model);
  Program before = clone(program);
  auto count = bind_backend_ops(program, ops(), std::span(&name, 1));
  ASSERT_TRUE(count.has_value()) << count.error().str();
  EXPECT_EQ(*count, 1u);
  EXPECT_TRUE(verify(program).empty());
  const Node& node = *program.methods[0]->graph->first();
  EXPECT_EQ(node.op(), name);
  EXPECT_EQ(node.debug_handle, 2u);
  EXPECT_EQ(node.source->line, 3);
  // It computes what it stands for.
  std::vector<RuntimeValue> inputs = {
      make_data<float>(ScalarType::F32, {2, 3}, std::vector<float>{1, -2, 3, -4, 5, -6}),
      make_data<float>(ScalarType::F32, {3}, std::vector<float>{1, 2, -3})};
  auto want = interpret(before, *before.methods[0], inputs);
  auto got = interpret(program, *program.methods[0], inputs);
  ASSERT_TRUE(want.has_value());
  ASSERT_TRUE(got.has_value()) << got.error().str();
  EXPECT_EQ(content_hash(std::get<TensorData>((*want)[0])), content_hash(std::get<TensorData>((*got)[0])));
}

using Origins = std::vector<std::pair<std::uint32_t, int>>;  // debug handle, line

Origins origins_of(const Node& node) {
  Origins origins;
  for_each_origin(node, [&](const NodeOrigin& origin) {
    origins.emplace_back(origin.debug_handle, origin.source == nullptr ? 0 : origin.source->line);
  });
  return origins;
}

TEST(BackendOp, KeepsTheHandlesAndLinesOfAllThatItReplaces) {
  Name name = registered("unit_test.origins.default");
  Program program = parse_call(model);
  ASSERT_TRUE(bind_backend_ops(program, ops(), std::span(&name, 1)).has_value());
  const Node& node = *program.methods[0]->graph->first();
  Origins want = {{1, 2}, {2, 3}};
  EXPECT_EQ(origins_of(node), want);
  DelegateMappingBuilder builder(DelegateMappingBuilder::Identifiers::Generated);
  ASSERT_TRUE(builder.insert({&node}).has_value());
  DebugHandleMap map = {{std::int64_t{0}, {1, 2}}};
  EXPECT_EQ(builder.mapping(), map);

  // A backend that names them is believed, and copies and texts of the program have them.
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("A", [&](const Program& given) {
        Result<PreprocessResult> result = good(given);
        result->debug_handle_map = map;
        return result;
      }));
  auto lowered = to_backend(program, FunctionPartitioner([](auto&, const Method& method) {
                              PartitionResult result;
                              result.partition_tags[Name("t")] = {"A", {}};
                              result.node_tags.emplace_back(method.graph->first(), Name("t"));
                              return result;
                            }),
                            registry);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(origins_of(*inner(*lowered->program.delegates[0]).graph->first()), want);
  Program read = parse_call(print(program, {.sources = true}));
  EXPECT_EQ(origins_of(*read.methods[0]->graph->first()), want);
}

TEST(BackendOp, ItsPatternComesBackWithHandlesAndLines) {
  Name name = registered("unit_test.restored.default");
  Program program = parse_call(model);
  Program before = clone(program);
  ASSERT_TRUE(bind_backend_ops(program, ops(), std::span(&name, 1)).has_value());
  ASSERT_TRUE(expand_backend_ops(program, BackendOpsToExpand::All).has_value());
  const Node* node = program.methods[0]->graph->first();
  for (const Node& want : before.methods[0]->graph->nodes()) {
    EXPECT_EQ(origins_of(*node), origins_of(want));
    node = node->next();
  }
}

TEST(BackendOp, IsExpandedToItsPattern) {
  Name name = registered("unit_test.expanded.default");
  Program program = parse_call(model);
  ASSERT_TRUE(bind_backend_ops(program, ops(), std::span(&name, 1)).has_value());
  auto count = expand_backend_ops(program, BackendOpsToExpand::WithoutKernel);
  ASSERT_TRUE(count.has_value()) << count.error().str();
  EXPECT_EQ(*count, 1u);
  EXPECT_TRUE(verify(program).empty());
  EXPECT_EQ(op_names(*program.methods[0]->graph), "aten.mul.Tensor;aten.relu.default;aten.tan.default;");
}

TEST(BackendOp, OnesInPatternsAreExpandedToo) {
  registered("unit_test.inner.default");
  const Name outer = registered("unit_test.outer.default", R"(program
method outer(%a: none, %b: none) {
  %m: none = unit_test.inner.default(%a, %b)
  %r: none = aten.tan.default(%m)
  return %r
}
)");
  Program program = parse_call(model);
  const Name names[] = {Name("unit_test.inner.default"), outer};
  ASSERT_TRUE(bind_backend_ops(program, ops(), names).has_value());
  ASSERT_TRUE(bind_backend_ops(program, ops(), std::span(&outer, 1)).has_value());
  const Graph& graph = *program.methods[0]->graph;
  ASSERT_EQ(op_names(graph), "unit_test.outer.default;");
  auto count = expand_backend_ops(program, BackendOpsToExpand::All);
  ASSERT_TRUE(count.has_value()) << count.error().str();
  EXPECT_EQ(*count, 2u);
  EXPECT_EQ(op_names(graph), "aten.mul.Tensor;aten.relu.default;aten.tan.default;");
}

// Whatever stands behind it is expanded as well.
TEST(BackendOp, OnesWithAKernelStayWhereTheyComeFromAPattern) {
  registered("unit_test.kept.default", mul_relu, "unit_test::kept.out");
  registered("unit_test.around.default", R"(program
method around(%a: none, %b: none) {
  %m: none = unit_test.kept.default(%a, %b)
  %r: none = aten.tan.default(%m)
  return %r
}
)");
  auto program = parse_program(R"(program
method forward(%x: f32[2], %y: f32[2]) {
  %a: f32[2] = unit_test.around.default(%x, %y)
  %b: f32[2] = unit_test.around.default(%a, %y)
  return %b
}
)",
                               "<text>", ops());
  ASSERT_TRUE(program.has_value()) << program.error().str();
  EXPECT_EQ(*expand_backend_ops(*program, BackendOpsToExpand::WithoutKernel), 2u);
  EXPECT_EQ(op_names(*program->methods[0]->graph),
            "unit_test.kept.default;aten.tan.default;unit_test.kept.default;aten.tan.default;");
  EXPECT_EQ(*expand_backend_ops(*program, BackendOpsToExpand::All), 2u);
  EXPECT_TRUE(verify(*program).empty());
}

TEST(BackendOp, OneWithAKernelStaysWhenOthersAreExpanded) {
  Name name = registered("unit_test.kernel.default", mul_relu, "unit_test::kernel.out");
  Program program = parse_call(model);
  ASSERT_TRUE(bind_backend_ops(program, ops(), std::span(&name, 1)).has_value());
  EXPECT_EQ(*expand_backend_ops(program, BackendOpsToExpand::WithoutKernel), 0u);
  EXPECT_EQ(*expand_backend_ops(program, BackendOpsToExpand::All), 1u);
}

TEST(BackendOp, TypesFollowFromThePattern) {
  Name name = registered("unit_test.typed.default");
  Program program = parse_call(
      "program\nmethod forward(%x: f32[2, 3], %y: f32[3]) {\n"
      "  %r: f32[2, 3] = unit_test.typed.default(%x, %y)\n  return %r\n}\n");
  const Node& node = *program.methods[0]->graph->first();
  auto types = ops()->find(name)->infer(OpCall(node));
  ASSERT_TRUE(types.has_value()) << types.error().str();
  EXPECT_THAT(*types, ElementsAre(node.result()->type()));
}

TEST(BackendOp, MayBeTakenByABackend) {
  Name name = registered("unit_test.taken.default");
  Program program = parse_call(model);
  ASSERT_TRUE(bind_backend_ops(program, ops(), std::span(&name, 1)).has_value());
  auto lowered = to_backend(program, FunctionPartitioner([](auto&, const Method& method) {
                              PartitionResult result;
                              result.partition_tags[Name("t")] = {"A", {}};
                              result.node_tags.emplace_back(method.graph->first(), Name("t"));
                              return result;
                            }),
                            registry_of_a_and_b());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(text_of(*lowered->program.delegates[0]->processed_bytes), "unit_test.taken.default;");
}

TEST(BackendOp, PacketsGroupOverloads) {
  registered("unit_test.packed.default");
  registered("unit_test.packed.other");
  EXPECT_THAT(ops()->packet("unit_test.packed"),
              ElementsAre("unit_test.packed.default", "unit_test.packed.other"));
  EXPECT_THAT(ops()->packet("quantized_decomposed.quantize_per_tensor"),
              ElementsAre("quantized_decomposed.quantize_per_tensor.default",
                          "quantized_decomposed.quantize_per_tensor.tensor"));
  EXPECT_THAT(ops()->packet("unit_test.nothing"), IsEmpty());
}

constexpr std::string_view scaled_pattern = R"(program
method scaled(%x: none, %scale: float) {
  %m: none = aten.mul.Scalar(%x, %scale)
  %r: none = aten.relu.default(%m)
  return %r
}
)";

constexpr std::string_view scaled_model = R"(program
method forward(%x: f32[2, 3]) {
  %a: f32[2, 3] = aten.mul.Scalar(%x, 2.5)
  %b: f32[2, 3] = aten.relu.default(%a) #1
  %c: f32[2, 3] = aten.mul.Scalar(%b, 3)
  %d: f32[2, 3] = aten.relu.default(%c) #2
  return %d
}
)";

Name registered_spec(const BackendOpSpec& spec) {
  EXPECT_TRUE(ops()->add_library("unit_test").has_value());
  Status status = ops()->add(spec);
  EXPECT_TRUE(status.has_value()) << status.error().str();
  return Name(spec.name);
}

std::string text_after(std::string_view model_text, Name op, bool expanded) {
  Program program = parse_call(model_text);
  auto count = bind_backend_ops(program, ops(), std::span(&op, 1));
  EXPECT_TRUE(count.has_value()) << count.error().str();
  if (expanded) {
    auto back = expand_backend_ops(program, BackendOpsToExpand::WithoutKernel);
    EXPECT_TRUE(back.has_value()) << back.error().str();
  }
  expect_sound(program);
  return print(program);
}

TEST(BackendOp, PatternsBindLiterals) {
  Name name = registered("unit_test.scaled.default", scaled_pattern);
  EXPECT_EQ(ops()->find_backend_op(name)->schema,
            "unit_test.scaled.default(Tensor x, float scale) -> Tensor");
  std::string bound = text_after(scaled_model, name, false);
  EXPECT_THAT(bound, HasSubstr("%b_1: f32[2, 3] = unit_test.scaled.default(%x, 2.5) #1"));
  EXPECT_THAT(bound, HasSubstr("unit_test.scaled.default(%b_1, 3.0) #2"));  // an int is a float too
  std::string expanded = text_after(scaled_model, name, true);
  EXPECT_THAT(expanded, HasSubstr("aten.mul.Scalar(%x, 2.5)"));
  EXPECT_THAT(expanded, HasSubstr("aten.mul.Scalar(%relu, 3.0)"));
}

TEST(BackendOp, ALiteralThatStandsTwiceIsTheSameInBothPlaces) {
  Name name = registered("unit_test.same.default", R"(program
method same(%x: none, %n: float) {
  %m: none = aten.mul.Scalar(%x, %n)
  %r: none = aten.add.Scalar(%m, %n, 1)
  return %r
}
)");
  constexpr std::string_view text = R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.mul.Scalar(%x, 2.0)
  %b: f32[2] = aten.add.Scalar(%a, 2.0, 1)
  %c: f32[2] = aten.mul.Scalar(%b, 2.0)
  %d: f32[2] = aten.add.Scalar(%c, 4.0, 1)
  return %d
}
)";
  Program program = parse_call(text);
  EXPECT_EQ(*bind_backend_ops(program, ops(), std::span(&name, 1)), 1u);
}

TEST(BackendOp, OthersOfTheSchemaGetTheirDefaults) {
  Name name =
      registered_spec({.name = "unit_test.full.default",
                       .pattern = std::string(scaled_pattern),
                       .schema = "unit_test.full.default(bool flip=False, Tensor? y=None, Scalar scale=1, "
                                 "int[] axes=[0, 1], *, Tensor x, str mode=\"up\") -> Tensor"});
  EXPECT_THAT(text_after(scaled_model, name, false),
              HasSubstr("unit_test.full.default(false, none, 2.5, [0, 1], x=%x, mode=\"up\") #1"));
  EXPECT_THAT(text_after(scaled_model, name, true), HasSubstr("aten.mul.Scalar(%x, 2.5)"));
}

TEST(BackendOp, APatternStandsForTheDefaultsOnly) {
  Name name =
      registered_spec({.name = "unit_test.flip.default",
                       .pattern = std::string(scaled_pattern),
                       .schema = "unit_test.flip.default(Tensor x, float scale, bool flip=False) -> Tensor"});
  auto program = [&](const std::string& flip) {
    return parse_call(
        "program\nmethod forward(%x: f32[2]) {\n  %r: f32[2] = unit_test.flip.default(%x, 2.0, " + flip +
        ")\n  return %r\n}\n");
  };
  Program plain = program("false");
  EXPECT_EQ(*expand_backend_ops(plain, BackendOpsToExpand::WithoutKernel), 1u);
  Program flipped = program("true");
  auto refused = expand_backend_ops(flipped, BackendOpsToExpand::WithoutKernel);
  ASSERT_TRUE(is_refused(refused));
  EXPECT_EQ(refused.error().code, "to_backend.backend-op-left");
  EXPECT_THAT(refused.error().message, HasSubstr("flip=true"));
  EXPECT_EQ(name.str(), "unit_test.flip.default");
}

constexpr std::string_view opaque_call = R"(program
method forward(%x: f32[2, 3]) {
  %r: f32[3, 2] = unit_test.opaque.default(%x, 4) from "model.py":7
  return %r
}
)";

TEST(BackendOp, WithoutAPatternItIsRefusedOutsideOfADelegate) {
  registered_spec(
      {.name = "unit_test.opaque.default", .schema = "unit_test.opaque.default(Tensor x, int n) -> Tensor"});
  Program program = parse_call(opaque_call);
  EXPECT_EQ(*expand_backend_ops(program, BackendOpsToExpand::All), 0u);
  auto refused = expand_backend_ops(program, BackendOpsToExpand::WithoutKernel);
  ASSERT_TRUE(is_refused(refused));
  EXPECT_EQ(refused.error().code, "to_backend.backend-op-left");
  EXPECT_THAT(refused.error().str(), HasSubstr("model.py:7"));
}

TEST(BackendOp, WithoutAPatternItMayBeTakenByABackend) {
  registered_spec(
      {.name = "unit_test.opaque.default", .schema = "unit_test.opaque.default(Tensor x, int n) -> Tensor"});
  auto lowered = to_backend("A", parse_call(opaque_call), {}, registry_of_a_and_b());
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(text_of(*lowered->processed_bytes), "unit_test.opaque.default;");
}

TEST(BackendOp, WithoutAPatternItStaysOnItsKernel) {
  registered_spec({.name = "unit_test.own.default",
                   .kernel = "unit_test::own.out",
                   .schema = "unit_test.own.default(Tensor x) -> Tensor"});
  Program program = parse_call(
      "program\nmethod forward(%x: f32[2]) {\n  %r: f32[2] = unit_test.own.default(%x)\n  return %r\n}\n");
  EXPECT_EQ(*expand_backend_ops(program, BackendOpsToExpand::WithoutKernel), 0u);
}

Result<std::vector<Type>> turned(const OpCall& call) {
  const TensorType& x = call.tensor("x");
  return std::vector<Type>{tensor_type(make_tensor(x.dtype, {x.sizes[1], x.sizes[0]}))};
}
Result<std::vector<Type>> two_types(const OpCall& call) {
  return std::vector<Type>(2, tensor_type(call.tensor("x")));
}
Result<std::vector<Type>> number(const OpCall&) {
  return std::vector<Type>{{.kind = Type::Kind::Int}};
}

TEST(BackendOp, MayHaveARuleOfItsOwn) {
  const std::string schema = "unit_test.turned.default(Tensor x) -> Tensor";
  Name name = registered_spec({.name = "unit_test.turned.default", .schema = schema, .infer = turned});
  Program program = parse_call(
      "program\nmethod forward(%x: f32[2, 3]) {\n  %r: f32[3, 2] = unit_test.turned.default(%x)\n  return "
      "%r\n}\n");
  const Node& node = *program.methods[0]->graph->first();
  auto types = ops()->find(name)->infer(OpCall(node));
  ASSERT_TRUE(types.has_value()) << types.error().str();
  EXPECT_THAT(*types, ElementsAre(node.result()->type()));

  auto refused = [](const std::string& op, InferFunction rule) {
    Name wrong = registered_spec({.name = op, .schema = op + "(Tensor x) -> Tensor", .infer = rule});
    Program call =
        parse_call("program\nmethod f(%x: f32[2]) {\n  %r: f32[2] = " + op + "(%x)\n  return %r\n}\n");
    auto given = ops()->find(wrong)->infer(OpCall(*call.methods[0]->graph->first()));
    return given ? "nothing" : given.error().str();
  };
  EXPECT_EQ(
      refused("unit_test.turned.twice", two_types),
      "[to_backend.bad-backend-op] backend op 'unit_test.turned.twice': its rule returns 2 types, but its "
      "schema returns 1 "
      "tensors");
  EXPECT_EQ(refused("unit_test.turned.number", number),
            "[to_backend.bad-backend-op] backend op 'unit_test.turned.number': its rule returns 1 types, not "
            "all of them tensors, "
            "but its schema returns 1 tensors");
}

// An op that writes gets a functional form, which has its kernel.
TEST(BackendOp, MayWriteToItsArguments) {
  EXPECT_TRUE(ops()->add_library("unit_test").has_value());
  const BackendOpSpec append{.name = "unit_test.append.rows",
                             .kernel = "unit_test::append.out",
                             .schema =
                                 "unit_test.append.rows(Tensor value, Tensor(a!) cache, Tensor(b!)? "
                                 "seen=None, *, int at=0) -> Tensor"};
  ASSERT_TRUE(ops()->add(append));
  EXPECT_TRUE(ops()->add(append));
  const OpDef* op = ops()->find(Name("unit_test.append.rows"));
  ASSERT_NE(op, nullptr);
  EXPECT_TRUE(op->mutates() && op->out_name.empty());
  const OpDef* form = ops()->find(op->functional);
  ASSERT_NE(form, nullptr);
  EXPECT_EQ(
      form->schema,
      "unit_test.append.rows_functional(Tensor value, Tensor(a) cache, Tensor(b)? seen=None, *, int at=0) -> "
      "(Tensor, Tensor, Tensor)");
  EXPECT_EQ(form->out_name, "unit_test::append.out");
  EXPECT_FALSE(form->mutates());
  EXPECT_THAT(refusal({.name = "unit_test.append.rows_functional",
                       .schema = "unit_test.append.rows_functional(Tensor x) -> Tensor"}),
              HasSubstr("with this name exists already"));
}

// What it gives back is no result of the functional form.
TEST(BackendOp, MayGiveBackWhatItWrites) {
  EXPECT_TRUE(ops()->add_library("unit_test").has_value());
  ASSERT_TRUE(ops()->add(
      {.name = "unit_test.swap.default",
       .kernel = "unit_test::swap",
       .schema = "unit_test.swap.default(Tensor(a!) x, int[2] at=[0, 1], *, Tensor(b!)? y=None) -> "
                 "(Tensor(b!), Tensor, Tensor(a!))"}));
  EXPECT_EQ(
      ops()->find(Name("unit_test.swap.functional"))->schema,
      "unit_test.swap.functional(Tensor(a) x, int[2] at=[0, 1], *, Tensor(b)? y=None) -> (Tensor, Tensor, "
      "Tensor)");
}

TEST(BackendOp, CanBeTakenBack) {
  BackendOps own;
  const BackendOpSpec kept{.name = "DO_NOT_USE_TEST_ONLY.kept.default",
                           .schema = "DO_NOT_USE_TEST_ONLY.kept.default(Tensor(a!) x) -> ()"};
  ASSERT_TRUE(own.add(kept));
  const BackendOps::Extent before = own.extent();
  ASSERT_TRUE(own.add_library("other"));
  const BackendOpSpec taken{.name = "other.op.default", .schema = "other.op.default(Tensor(a!) x) -> ()"};
  ASSERT_TRUE(own.add(taken));
  own.truncate(before);
  EXPECT_EQ(own.find(Name("other.op.default")), nullptr);
  EXPECT_EQ(own.find(Name("other.op.functional")), nullptr);
  EXPECT_TRUE(own.packet("other.op").empty());
  EXPECT_NE(own.find(Name("DO_NOT_USE_TEST_ONLY.kept.functional")), nullptr);
  EXPECT_FALSE(own.add(taken));  // there is no such library
  ASSERT_TRUE(own.add_library("other"));
  EXPECT_TRUE(own.add(taken));
}

TEST(BackendOp, WrongSchemasAreRefused) {
  EXPECT_TRUE(ops()->add_library("unit_test").has_value());
  auto with_schema = [](const std::string& rest, std::string_view pattern = "") {
    static int count = 0;
    std::string name = "unit_test.schema" + std::to_string(++count) + ".default";
    return refusal({.name = name, .pattern = std::string(pattern), .schema = name + rest});
  };
  for (const char* rest : {"",
                           "(",
                           "(Tensor",
                           "(Tensor x",
                           "(Tensor x)",
                           "(Tensor x) ->",
                           "(Tensor x) -> ",
                           "(Tensor x) -> Tensor, Tensor",
                           "(Tenser x) -> Tensor",
                           "(Tensor x,) -> Tensor",
                           "(int[99999999999999999999] n) -> Tensor",
                           "(int[2 n) -> Tensor",
                           "(int n=) -> Tensor",
                           "(int n=1.5) -> Tensor",
                           "(int n=99999999999999999999) -> Tensor",
                           "(str s=\"open) -> Tensor",
                           "(int[] n=[1, 2) -> Tensor",
                           "(Tensor(a x) -> Tensor",
                           "(Tensor x) -> (Tensor",
                           "(float f=1e999) -> Tensor"}) {
    EXPECT_THAT(with_schema(rest), HasSubstr("is invalid")) << rest;
  }
  EXPECT_THAT(with_schema("(Tensor x, Tensor x) -> Tensor"), HasSubstr("twice"));
  EXPECT_THAT(with_schema("(Tensor(a) x) -> Tensor"), HasSubstr("is aliased"));
  EXPECT_THAT(with_schema("(Tensor(a!)[] x) -> Tensor"), HasSubstr("is mutated, but is not a tensor"));
  EXPECT_THAT(with_schema("(Tensor(a!) x) -> Tensor(b!)"), HasSubstr("returns a view of an argument"));
  EXPECT_THAT(with_schema("(Tensor(a!) x) -> (Tensor, Tensor(a))"),
              HasSubstr("returns a view of an argument"));
  EXPECT_THAT(with_schema("(Tensor(a!) x, Tensor scale) -> Tensor", scaled_pattern),
              HasSubstr("cannot have a pattern"));
  EXPECT_THAT(with_schema("(Tensor x, Device d) -> Tensor"), HasSubstr("kernels do not support"));
  EXPECT_THAT(with_schema("(Tensor x, bool b=\"no\") -> Tensor"), HasSubstr("default value of another type"));
  EXPECT_THAT(with_schema("(Tensor x, int n=None) -> Tensor"), HasSubstr("default value of another type"));
  EXPECT_THAT(with_schema("(Tensor x) -> ()"), HasSubstr("must return tensors only"));
  EXPECT_THAT(with_schema("(Tensor x) -> int"), HasSubstr("must return tensors only"));
  EXPECT_THAT(with_schema("(Tensor x) -> Tensor[]"), HasSubstr("must return tensors only"));
  EXPECT_THAT(with_schema("(Tensor x) -> Tensor", scaled_pattern), HasSubstr("%scale: float"));
  EXPECT_THAT(with_schema("(Tensor x, int scale) -> Tensor", scaled_pattern), HasSubstr("%scale: float"));
  EXPECT_THAT(with_schema("(Tensor x, float scale, int n) -> Tensor", scaled_pattern),
              HasSubstr("argument 'n'"));
  EXPECT_THAT(with_schema("(Tensor x, float scale) -> (Tensor, Tensor)", scaled_pattern),
              HasSubstr("returns 1"));
  EXPECT_THAT(
      refusal({.name = "unit_test.other.default", .schema = "unit_test.another.default(Tensor x) -> Tensor"}),
      HasSubstr("another name, 'unit_test.another.default'"));
  EXPECT_THAT(refusal({.name = "unit_test.nothing.default"}), HasSubstr("neither a pattern nor a schema"));
}

TEST(BackendOp, WrongOnesAreRefused) {
  std::string pattern(mul_relu);
  EXPECT_THAT(refusal({"nobody.op.default", pattern, ""}), HasSubstr("unknown library 'nobody'"));
  EXPECT_THAT(refusal({"executorch_prim.op", pattern, ""}), HasSubstr("library.op.overload"));
  registered("unit_test.twice.default");
  EXPECT_EQ(refusal({"unit_test.twice.default", pattern, ""}), "accepted");  // the same again
  EXPECT_THAT(refusal({"unit_test.twice.default", pattern, "unit_test::twice.out"}), HasSubstr("already"));
  EXPECT_THAT(refusal({"quantized_decomposed.quantize_per_tensor.default", pattern, ""}),
              HasSubstr("already"));
  EXPECT_THAT(
      refusal(
          {"unit_test.open.default",
           "program\nmethod p(%a: none) {\n  %r: none = aten.clamp.default(%a, match.rest)\n  return %r\n}\n",
           ""}),
      HasSubstr("open"));
  EXPECT_THAT(
      refusal({"unit_test.unknown.default",
               "program\nmethod p(%a: none) {\n  %r: none = nobody.knows.this(%a)\n  return %r\n}\n", ""}),
      HasSubstr("unknown"));
  EXPECT_THAT(
      refusal({"unit_test.more.default",
               "program\nmethod p(%a: none) {\n  %r: none = aten.relu.default(%a, 1, 2)\n  return %r\n}\n",
               ""}),
      HasSubstr("[pattern]"));
  EXPECT_TRUE(is_refused(ops()->add_library("no dots.")));
  Program program = parse_call(model);
  Name nobody("unit_test.nobody.default");
  EXPECT_TRUE(is_refused(bind_backend_ops(program, ops(), std::span(&nobody, 1))));
}

}  // namespace
}  // namespace depute
