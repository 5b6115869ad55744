// Wrong partitioners and backends: each ends in an error with an id, which names method, tag, node, backend
// and the user's line as far as they are known, and leaves the caller's program as it was.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "depute/backend/pins.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/program.h"
#include "lowering_testing.h"
#include "tests/unit/refusal_log.h"

namespace depute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view model = R"(program
data "count": f32[2] = [0, 0]
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %count: f32[2] = buffer "count", %x: f32[2], %p: bool[]) {
  graph @then(%u: f32[2]) {
    %t: f32[2] = aten.neg.default(%u) #7 from "model.py":7 "branch"
    return %t
  }
  graph @else(%u: f32[2]) {
    return %u
  }
  %a: f32[2] = aten.mul.Tensor(%x, %w) #1 from "model.py":1 "scale"
  %b: f32[2] = aten.add.Tensor(%a, %count, alpha=2) #2 from "model.py":2
  %c: f32[2] = aten.mul.Tensor(%b, %w) #3 from "model.py":3
  %d: f32[2] = higher_order.cond(%p, @then, @else, [%c]) #4 from "model.py":4
  %e: f32[2] = aten.permute.default(%d, [0]) #5 from "model.py":5
  %next: f32[2] = aten.add.Tensor(%count, %e) #6 from "model.py":6
  store buffer "count" = %next
  return %e
}
)";

// What lowering with this partitioner says; checks that the program stays as it was, but for partitioners
// that cast const away to edit it.
Diagnostic refusal(const PartitionFunction& function, std::unique_ptr<Backend> backend = nullptr,
                   ToBackendOptions options = {}, std::string_view text = model) {
  Program program = parse(text);
  Program before = clone(program);
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("Good", good));
  if (backend != nullptr) add(registry, std::move(backend));
  auto lowered = to_backend(program, FunctionPartitioner(function), registry, options);
  const bool edited = !is_validation_enabled() ||
                      (!lowered && lowered.error().code == "to_backend.partitioner-changed-program");
  EXPECT_TRUE(edited || equal(program, before));
  if (!is_refused(lowered)) return {.code = "accepted"};
  return lowered.error();
}

void expect_unchanged_after(const PartitionFunction& function) {
  Program program = parse(model);
  Program before = clone(program);
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("Good", good));
  EXPECT_TRUE(is_refused(to_backend(program, FunctionPartitioner(function), registry)));
  EXPECT_TRUE(equal(program, before));
  // It still lowers.
  EXPECT_TRUE(to_backend(program, FunctionPartitioner(tagging({{"a", "t"}})), registry).has_value());
}

TEST(WrongPartitioner, TagsAnErasedNode) {
  Program program = parse(model);
  Graph& graph = *program.methods[0]->graph;
  Value* x = graph.inputs()[2];
  Node* erased = graph.add(Name("aten.relu.default"), {Argument::of(x)}, {}, {{Name("gone"), x->type()}});
  graph.erase(*erased);
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("Good", good));
  const FunctionPartitioner partitioner([&](const Program&, const Method&) -> Result<PartitionResult> {
    return PartitionResult{.partition_tags = {{Name("t"), {"Good", {}}}}, .node_tags = {{erased, Name("t")}}};
  });
  auto lowered = to_backend(program, partitioner, registry);
  ASSERT_TRUE(is_refused(lowered));
  EXPECT_EQ(lowered.error().code, "to_backend.foreign-node");
  EXPECT_THAT(lowered.error().message, HasSubstr("an erased node is tagged"));
}

TEST(WrongPartitioner, Throws) {
  Diagnostic error =
      refusal([](auto&, auto&) -> Result<PartitionResult> { throw std::runtime_error("oh no"); });
  EXPECT_EQ(error.code, "to_backend.partitioner-failed");
  EXPECT_THAT(error.str(), AllOf(HasSubstr("method forward"), HasSubstr("oh no")));
}

TEST(WrongPartitioner, ThrowsWhatIsNoException) {
  EXPECT_EQ(refusal([](auto&, auto&) -> Result<PartitionResult> { throw 7; }).code,
            "to_backend.partitioner-failed");
}

TEST(WrongPartitioner, ReturnsAnError) {
  Diagnostic refused = refusal([](auto&, auto&) -> Result<PartitionResult> {
    return failure("mine", "%a", "no such chip", "buy one");
  });
  EXPECT_EQ(refused.code, "to_backend.partitioner-failed");
  EXPECT_THAT(refused.message, HasSubstr("[mine] %a: no such chip"));
  EXPECT_EQ(refused.hint, "buy one");
}

TEST(WrongPartitioner, EditsAnOp) {
  Diagnostic error = refusal(
      editing([](Method& method) { method.graph->set_op(*method.graph->first(), Name("aten.add.Tensor")); }));
  EXPECT_EQ(error.code, "to_backend.partitioner-changed-program");
  EXPECT_THAT(error.where, HasSubstr("method forward"));
}

TEST(WrongPartitioner, EditsALiteral) {
  EXPECT_EQ(refusal(editing([](Method& method) {
              Node& node = *find_node(*method.graph, "e");
              method.graph->set_args(node, std::vector{node.arg(0), method.graph->int_list({-1})}, {});
            })).code,
            "to_backend.partitioner-changed-program");
}

TEST(WrongPartitioner, EditsAKeywordArgument) {
  EXPECT_EQ(refusal(editing([](Method& method) {
              Node& node = *find_node(*method.graph, "b");
              NamedArgument alpha{Name("alpha"), Argument::of(3)};
              std::vector<Argument> args(node.args().begin(), node.args().end());
              method.graph->set_args(node, args, std::span(&alpha, 1));
            })).code,
            "to_backend.partitioner-changed-program");
}

TEST(WrongPartitioner, EditsABody) {
  EXPECT_EQ(refusal(editing([](Method& method) {
              Graph& body = *method.bodies.front();
              body.set_op(*body.first(), Name("aten.relu.default"));
            })).code,
            "to_backend.partitioner-changed-program");
}

// Another process has copies: there is nothing to look for, and the time for it is saved. Partitions are
// still looked at when the backend is in this process.
TEST(WrongPartitioner, AsksElsewhereAndIsNotLookedAfter) {
  class Elsewhere : public FunctionPartitioner {
   public:
    using FunctionPartitioner::FunctionPartitioner;
    bool is_remote() const override { return true; }
  };
  const PartitionFunction edits = editing(
      [](Method& method) { method.graph->set_op(*find_node(*method.graph, "b"), Name("aten.sub.Tensor")); });
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("Good", good));
  EXPECT_TRUE(to_backend(parse(model), Elsewhere(edits), registry).has_value());
  EXPECT_EQ(refusal(edits).code, "to_backend.partitioner-changed-program");
  EXPECT_TRUE(filtered(std::make_unique<Elsewhere>(edits), {.max_nodes = 1})->is_remote());
}

TEST(WrongPartitioner, EditsTheOutputs) {
  EXPECT_EQ(refusal(editing([](Method& method) {
              std::vector<Argument> outputs(method.graph->outputs().begin(), method.graph->outputs().end());
              outputs[1] = outputs[0];
              method.graph->set_outputs(outputs);
            })).code,
            "to_backend.partitioner-changed-program");
}

TEST(WrongPartitioner, EditsTheSignature) {
  EXPECT_EQ(refusal(editing([](Method& method) { method.inputs[0].kind = InputSpec::Kind::Constant; })).code,
            "to_backend.partitioner-changed-program");
}

TEST(WrongPartitioner, AddsANode) {
  EXPECT_EQ(refusal(editing([](Method& method) {
              method.graph->add(Name("aten.neg.default"), {Argument::of(method.graph->inputs()[2])}, {},
                                {{Name("more"), method.graph->inputs()[2]->type()}});
            })).code,
            "to_backend.partitioner-changed-program");
}

TEST(WrongPartitioner, IsNotCheckedForEditsWhenValidationIsOff) {
  ValidationDisabled scope;
  EXPECT_EQ(refusal(editing([](Method& method) {
              method.graph->set_op(*method.graph->first(), Name("aten.add.Tensor"));
            })).code,
            "accepted");
}

// disable_validation() holds for the rest of the process: in one of its own.
TEST(WrongPartitioner, IsNotCheckedForEditsOnceValidationIsDisabled) {
  auto code = [] {
    return refusal(editing([](Method& method) {
             method.graph->set_op(*method.graph->first(), Name("aten.add.Tensor"));
           }))
        .code;
  };
  auto run = [&] {
    bool was_checked = code() == "to_backend.partitioner-changed-program";
    disable_validation();
    std::exit(was_checked && code() == "accepted" ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST(WrongPartitioner, IsStillCheckedForTagsWhenValidationIsOff) {
  ValidationDisabled scope;
  EXPECT_EQ(refusal([](auto&, const Method& method) {
              PartitionResult result = tags(method, {{"a", "t"}});
              result.partition_tags.clear();
              return result;
            }).code,
            "to_backend.unknown-tag");
}

TEST(WrongPartitioner, TagsWithoutASpec) {
  Diagnostic error = refusal([](auto&, const Method& method) {
    PartitionResult result = tags(method, {{"a", "t"}});
    result.partition_tags.clear();
    return result;
  });
  EXPECT_EQ(error.code, "to_backend.unknown-tag");
  EXPECT_THAT(error.str(),
              AllOf(HasSubstr("method forward, node a (aten.mul.Tensor), tag t"),
                    HasSubstr("tag 't' has no delegation spec"), HasSubstr("model.py:1 (scale)")));
}

TEST(WrongPartitioner, TagsAConstantWithoutASpec) {
  Diagnostic error = refusal([](auto&, const Method& method) {
    PartitionResult result;
    result.constant_tags.emplace_back(find_input(method, "w"), Name("t"));
    return result;
  });
  EXPECT_EQ(error.code, "to_backend.unknown-tag");
  EXPECT_THAT(error.where, HasSubstr("parameter 'w'"));
}

TEST(WrongPartitioner, TagsTheOutputs) {
  Diagnostic error = refusal([](auto&, const Method& method) {
    PartitionResult result;
    result.partition_tags[Name("t")] = {"Good", {}};
    result.node_tags.emplace_back(method.graph->return_node(), Name("t"));
    return result;
  });
  EXPECT_EQ(error.code, "to_backend.output-tagged");
  EXPECT_THAT(error.message, HasSubstr("return node must not be tagged"));
}

TEST(WrongPartitioner, TagsTheOutputsOfABody) {
  EXPECT_EQ(refusal([](auto&, const Method& method) {
              PartitionResult result;
              result.partition_tags[Name("t")] = {"Good", {}};
              result.node_tags.emplace_back(method.bodies.front()->return_node(), Name("t"));
              return result;
            }).code,
            "to_backend.output-tagged");
}

TEST(WrongPartitioner, TagsAUserInput) {
  Diagnostic error = refusal(tagging({{"a", "t"}}, {{"x", "t"}}));
  EXPECT_EQ(error.code, "to_backend.input-tagged");
  EXPECT_THAT(error.str(), AllOf(HasSubstr("input 'x'"), HasSubstr("tag t")));
}

TEST(WrongPartitioner, TagsTheInputOfABody) {
  EXPECT_EQ(refusal([](auto&, const Method& method) {
              PartitionResult result = tags(method, {{"a", "t"}});
              result.constant_tags.emplace_back(method.bodies.front()->inputs()[0], Name("t"));
              return result;
            }).code,
            "to_backend.foreign-node");
}

TEST(WrongPartitioner, TagsAComputedValueAsConstant) {
  EXPECT_EQ(refusal([](auto&, const Method& method) {
              PartitionResult result = tags(method, {{"a", "t"}});
              result.constant_tags.emplace_back(method.graph->first()->result(), Name("t"));
              return result;
            }).code,
            "to_backend.foreign-node");
}

TEST(WrongPartitioner, TagsANodeTwice) {
  Diagnostic error = refusal(tagging({{"a", "t"}, {"a", "s"}}));
  EXPECT_EQ(error.code, "to_backend.tagged-twice");
  EXPECT_THAT(error.where, HasSubstr("node a"));
}

TEST(WrongPartitioner, TagsANodeOfAnotherProgram) {
  Program other = parse(model);
  EXPECT_EQ(refusal([&](auto&, const Method&) { return tags(*other.methods.front(), {{"a", "t"}}); }).code,
            "to_backend.foreign-node");
}

TEST(WrongPartitioner, MakesACycle) {
  Diagnostic error = refusal(tagging({{"a", "t"}, {"c", "t"}}));
  EXPECT_EQ(error.code, "to_backend.dependency-cycle");
  EXPECT_THAT(error.str(), AllOf(HasSubstr("method forward"), HasSubstr("tag t"), HasSubstr("model.py:2"),
                                 HasSubstr("partition t -> %b -> partition t")));
}

TEST(WrongPartitioner, MakesTwoPartitionsNeedEachOther) {
  Diagnostic error = refusal(tagging({{"a", "p"}, {"c", "p"}, {"b", "q"}}));
  EXPECT_EQ(error.code, "to_backend.dependency-cycle");
  EXPECT_THAT(error.message, HasSubstr("partition p -> partition q -> partition p"));
}

TEST(WrongPartitioner, NamesAnUnknownBackend) {
  Diagnostic error =
      refusal([](auto&, const Method& method) { return tags(method, {{"a", "t"}}, "Nobody"); });
  EXPECT_EQ(error.code, "to_backend.unknown-backend");
  EXPECT_THAT(error.where,
              AllOf(HasSubstr("method forward"), HasSubstr("tag t"), HasSubstr("backend Nobody")));
}

TEST(WrongPartitioner, MayNameAnUnknownBackendForATagWithoutNodes) {
  EXPECT_EQ(refusal([](auto&, const Method&) {
              PartitionResult result;
              result.partition_tags[Name("t")] = {"Nobody", {}};
              return result;
            }).code,
            "accepted");
}

TEST(WrongPartitioner, TagsInsideABodyThatIsTakenWhole) {
  Diagnostic error = refusal([](auto&, const Method& method) {
    PartitionResult result = tags(method, {{"d", "t"}, {"a", "s"}});
    result.node_tags.emplace_back(method.bodies.front()->first(), Name("s"));
    return result;
  });
  EXPECT_EQ(error.code, "to_backend.tag-inside-taken-body");
  EXPECT_THAT(error.str(), AllOf(HasSubstr("node t (aten.neg.default), tag s"), HasSubstr("model.py:7")));
}

TEST(WrongPartitioner, SplitsAConstantThatMayNotBeCopied) {
  Diagnostic error = refusal([](auto&, const Method& method) {
    PartitionResult result = tags(method, {{"a", "t"}});
    result.constant_tags.emplace_back(find_input(method, "w"), Name("t"));
    result.no_copy.push_back(find_input(method, "w"));
    return result;
  });
  EXPECT_EQ(error.code, "to_backend.split-constant");
  EXPECT_THAT(error.str(), AllOf(HasSubstr("is tagged with (t) but has user (c) which has tag (None)"),
                                 HasSubstr("parameter 'w'"), HasSubstr("model.py:3")));
}

TEST(WrongPartitioner, SplitsState) {
  Diagnostic error = refusal(tagging({{"next", "t"}}, {{"count", "t"}}));
  EXPECT_EQ(error.code, "to_backend.split-state");
  EXPECT_THAT(error.str(),
              AllOf(HasSubstr("buffer 'count'"), HasSubstr("read by %b (outside), %next (tag t)"),
                    HasSubstr("written by %next (tag t)"), HasSubstr("model.py:6")));
}

TEST(WrongPartitioner, IsNotDeterministic) {
  std::atomic<int> calls = 0;
  auto moody = [&](auto&, const Method& method) {
    return ++calls % 2 == 0 ? tags(method, {{"a", "t"}}) : tags(method, {{"b", "t"}});
  };
  EXPECT_EQ(refusal(moody, nullptr, {.check_determinism = true}).code,
            "to_backend.partitioner-not-deterministic");
}

TEST(WrongPartitioner, IsGivenForAnUnknownMethod) {
  Program program = parse(model);
  Registry registry;
  FunctionPartitioner partitioner(tagging({{"a", "t"}}));
  auto lowered = to_backend(program, {{"encode", &partitioner}}, registry);
  ASSERT_TRUE(is_refused(lowered));
  EXPECT_EQ(lowered.error().code, "to_backend.unknown-method");
  EXPECT_THAT(lowered.error().where, HasSubstr("method encode"));
}

TEST(WrongPartitioner, LeavesTheProgramAsItWas) {
  expect_unchanged_after(tagging({{"a", "t"}, {"c", "t"}}));
  expect_unchanged_after(tagging({{"next", "t"}}, {{"count", "t"}, {"w", "t"}}));
  expect_unchanged_after([](auto&, const Method& method) { return tags(method, {{"a", "t"}}, "Nobody"); });
}

Diagnostic backend_refusal(FunctionBackend::Preprocess preprocess,
                           FunctionBackend::Multimethod multimethod = {}, ToBackendOptions options = {}) {
  auto both = [](auto&, const Method& method) { return tags(method, {{"a", "t"}, {"c", "s"}}, "Bad"); };
  return refusal(
      both, std::make_unique<FunctionBackend>("Bad", std::move(preprocess), std::move(multimethod)), options);
}

TEST(WrongBackend, Throws) {
  Diagnostic error = backend_refusal(
      [](auto&) -> Result<PreprocessResult> { throw std::runtime_error("my compiler fell over"); });
  EXPECT_EQ(error.code, "to_backend.backend-failed");
  EXPECT_THAT(error.str(), AllOf(HasSubstr("method forward, node a (aten.mul.Tensor), tag t, backend Bad"),
                                 HasSubstr("my compiler fell over"), HasSubstr("model.py:1")));
}

TEST(WrongBackend, ThrowsWhatIsNoException) {
  EXPECT_EQ(backend_refusal([](auto&) -> Result<PreprocessResult> { throw "text"; }).code,
            "to_backend.backend-failed");
}

TEST(WrongBackend, ReturnsAnError) {
  Diagnostic refusal = backend_refusal(
      [](auto&) -> Result<PreprocessResult> { return failure("bad", "%a", "no room", "shrink it"); });
  EXPECT_EQ(refusal.code, "to_backend.backend-failed");
  EXPECT_THAT(refusal.str(),
              AllOf(HasSubstr("[bad] %a: no room"), HasSubstr("tag t"), HasSubstr("backend Bad")));
  EXPECT_EQ(refusal.hint, "shrink it");
}

TEST(WrongBackend, ReturnsNoBytes) {
  Diagnostic error = backend_refusal([](auto&) { return PreprocessResult{}; });
  EXPECT_EQ(error.code, "to_backend.no-bytes");
  EXPECT_THAT(error.where, AllOf(HasSubstr("method forward"), HasSubstr("tag t"), HasSubstr("backend Bad")));
}

TEST(WrongBackend, AsksForTooMuchArenaPadding) {
  auto padded = [](std::uint32_t padding) {
    return [padding](auto&) {
      return PreprocessResult{.processed_bytes = storage_of("x"), .arena_padding = padding};
    };
  };
  Diagnostic error = backend_refusal(padded(max_arena_padding + 1));
  EXPECT_EQ(error.code, "to_backend.bad-arena-padding");
  EXPECT_THAT(error.where, AllOf(HasSubstr("method forward"), HasSubstr("tag t"), HasSubstr("backend Bad")));
  EXPECT_THAT(error.message, HasSubstr("4097"));
}

TEST(WrongBackend, ThrowsForAllMethods) {
  EXPECT_EQ(
      backend_refusal(good, [](auto) -> Result<std::vector<MethodResults>> { throw std::logic_error("no"); })
          .code,
      "to_backend.backend-failed");
}

std::vector<MethodResults> results_for_forward(std::size_t count) {
  std::vector<MethodResults> all = {{"forward", {}}};
  all.front().results.resize(count, {.processed_bytes = storage_of("ok")});
  return all;
}

TEST(WrongBackend, ReturnsTooFewResults) {
  Diagnostic error = backend_refusal(good, [](auto) { return results_for_forward(1); });
  EXPECT_EQ(error.code, "to_backend.wrong-result-count");
  EXPECT_THAT(error.str(), AllOf(HasSubstr("method forward"), HasSubstr("1 results for 2 partitions")));
}

TEST(WrongBackend, ReturnsTooManyResults) {
  EXPECT_EQ(backend_refusal(good, [](auto) { return results_for_forward(3); }).code,
            "to_backend.wrong-result-count");
}

TEST(WrongBackend, ForgetsAMethod) {
  EXPECT_EQ(backend_refusal(good, [](auto) { return std::vector<MethodResults>(); }).code,
            "to_backend.wrong-result-count");
}

TEST(WrongBackend, InventsAMethod) {
  Diagnostic error = backend_refusal(good, [](auto) {
    std::vector<MethodResults> all = results_for_forward(2);
    all.push_back({"backward", {}});
    return all;
  });
  EXPECT_EQ(error.code, "to_backend.wrong-result-count");
  EXPECT_THAT(error.where, HasSubstr("method backward"));
}

TEST(WrongBackend, ReturnsAMethodTwice) {
  Diagnostic error = backend_refusal(good, [](auto) {
    std::vector<MethodResults> all = results_for_forward(2);
    all.push_back(all.front());
    return all;
  });
  EXPECT_EQ(error.code, "to_backend.wrong-result-count");
  EXPECT_THAT(error.where, HasSubstr("method forward"));
}

TEST(WrongBackend, EditsItsProgram) {
  Diagnostic error = backend_refusal([](const Program& program) {
    auto& graph = const_cast<Graph&>(*program.methods.front()->graph);
    graph.set_op(*graph.first(), Name("aten.add.Tensor"));
    return good(program);
  });
  EXPECT_EQ(error.code, "to_backend.backend-changed-program");
  EXPECT_THAT(error.where, HasSubstr("tag t"));
}

TEST(WrongBackend, MapsToHandlesThatAreNotThere) {
  Diagnostic error = backend_refusal([](const Program& program) {
    Result<PreprocessResult> result = good(program);
    result->debug_handle_map.push_back({std::int64_t{0}, {99}});
    return result;
  });
  EXPECT_EQ(error.code, "to_backend.bad-debug-handles");
  EXPECT_THAT(error.message, HasSubstr("99"));
}

FunctionBackend::Preprocess mapping(DebugHandleMap map) {
  return [map](const Program& program) {
    Result<PreprocessResult> result = good(program);
    if (program.methods.front()->graph->first()->debug_handle == 1) result->debug_handle_map = map;
    return result;
  };
}

TEST(WrongBackend, MapsAnIdentifierTwice) {
  Diagnostic error = backend_refusal(mapping({{"conv", {1}}, {"conv", {1}}}));
  EXPECT_EQ(error.code, "to_backend.bad-debug-handles");
  EXPECT_THAT(error.str(), AllOf(HasSubstr("two entries"), HasSubstr("'conv'"), HasSubstr("tag t")));
}

TEST(WrongBackend, MapsAnIdentifierToNothing) {
  Diagnostic error = backend_refusal(mapping({{std::int64_t{7}, {}}}));
  EXPECT_EQ(error.code, "to_backend.bad-debug-handles");
  EXPECT_THAT(error.str(), AllOf(HasSubstr("no debug handle"), HasSubstr("7")));
}

TEST(WrongBackend, MayMapInAnyOrder) {
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("Good", mapping({{std::int64_t{0}, {2, 1, 2}}})));
  auto lowered = to_backend(parse(model), FunctionPartitioner(tagging({{"a", "t"}, {"b", "t"}})), registry);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  DebugHandleMap sorted = {{std::int64_t{0}, {1, 2}}};
  EXPECT_EQ(lowered->program.delegates[0]->debug_handle_map, sorted);
  expect_sound(lowered->program);
}

FunctionBackend::Preprocess giving(NamedData data) {
  return [data](const Program& program) {
    Result<PreprocessResult> result = good(program);
    result->data_store_output.push_back(data);
    return result;
  };
}

TEST(WrongBackend, GivesDataWithoutAKey) {
  EXPECT_EQ(backend_refusal(giving({.key = "", .storage = storage_of("x")})).code,
            "to_backend.bad-named-data");
}

TEST(WrongBackend, GivesDataWithoutBytes) {
  Diagnostic error = backend_refusal(giving({.key = "k", .storage = nullptr}));
  EXPECT_EQ(error.code, "to_backend.bad-named-data");
  EXPECT_THAT(error.where, AllOf(HasSubstr("tag t"), HasSubstr("backend Bad")));
}

TEST(WrongBackend, GivesDataWithAnOddAlignment) {
  EXPECT_EQ(backend_refusal(giving({.key = "k", .storage = storage_of("x"), .alignment = 24})).code,
            "to_backend.bad-named-data");
}

TEST(WrongBackend, GivesOneKeyTwoContents) {
  Diagnostic error = backend_refusal([](const Program& program) {
    std::string name(program.methods.front()->graph->first()->tag.str());
    return giving({.key = "k", .storage = storage_of(name)})(program);
  });
  EXPECT_EQ(error.code, "to_backend.named-data-conflict");
  EXPECT_THAT(error.str(), AllOf(HasSubstr("delegate s"), HasSubstr("delegate t"), HasSubstr("\"k\"")));
}

TEST(WrongBackend, IsNotDeterministic) {
  std::atomic<int> calls = 0;
  auto moody = [&](const Program&) -> Result<PreprocessResult> {
    return PreprocessResult{.processed_bytes = storage_of(fmt::format("{}", ++calls))};
  };
  EXPECT_EQ(backend_refusal(moody, {}, {.check_determinism = true}).code,
            "to_backend.backend-not-deterministic");
  EXPECT_EQ(backend_refusal(moody).code, "accepted");
}

TEST(WrongBackend, IsNotDeterministicInWhereItsDataGo) {
  std::atomic<int> calls = 0;
  auto moody = [&](const Program& program) {
    return giving({.key = "k", .storage = storage_of("x"), .external_tag = ++calls > 2 ? "lora" : ""})(
        program);
  };
  EXPECT_EQ(backend_refusal(moody, {}, {.check_determinism = true}).code,
            "to_backend.backend-not-deterministic");
}

TEST(WrongBackend, IsNotDeterministicInTheLayoutOfItsData) {
  std::atomic<int> calls = 0;
  auto moody = [&](const Program& program) {
    NamedData data{.key = "k", .storage = storage_of("12345678")};
    if (++calls > 2) data.layout = program.methods.front()->graph->first()->result()->tensor();
    return giving(data)(program);
  };
  EXPECT_EQ(backend_refusal(moody, {}, {.check_determinism = true}).code,
            "to_backend.backend-not-deterministic");
}

// A lowering inside of a backend that fails: the backend that it happened in is named, too.
TEST(WrongBackend, FailsInALoweringOfItsOwn) {
  auto lower_inside = [] { return to_backend("Nobody", parse(model), {}, Registry()).error(); };
  auto one = [&](auto&) -> Result<PreprocessResult> { return Failure(lower_inside()); };
  auto all = [&](auto) -> Result<std::vector<MethodResults>> { return Failure(lower_inside()); };
  for (const Diagnostic& error : {backend_refusal(one), backend_refusal(good, all)}) {
    EXPECT_EQ(error.code, "to_backend.backend-failed");
    EXPECT_THAT(error.str(), AllOf(HasSubstr("backend Bad"), HasSubstr("to_backend.unknown-backend"),
                                   HasSubstr("backend Nobody"), HasSubstr("method forward")));
  }
}

TEST(WrongWhole, GivesOneKeyTwoContentsWithANestedDelegate) {
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("Good", giving({.key = "k", .storage = storage_of("x")})));
  add(registry, std::make_unique<FunctionBackend>("Outer", giving({.key = "k", .storage = storage_of("y")})));
  auto inside = to_backend(parse(model), FunctionPartitioner(tagging({{"a", "t"}})), registry);
  ASSERT_TRUE(inside.has_value()) << inside.error().str();
  EXPECT_TRUE(to_backend("Good", inside->program, {}, registry).has_value());
  auto delegate = to_backend("Outer", inside->program, {}, registry);
  ASSERT_TRUE(is_refused(delegate));
  EXPECT_EQ(delegate.error().code, "to_backend.named-data-conflict");
}

TEST(WrongWhole, HasTwoMethods) {
  Program program =
      parse("program\nmethod a(%x: f32[2]) {\n  return %x\n}\nmethod b(%x: f32[2]) {\n  return %x\n}\n");
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("Good", good));
  auto delegate = to_backend("Good", program, {}, registry);
  ASSERT_TRUE(is_refused(delegate));
  EXPECT_EQ(delegate.error().code, "to_backend.not-one-method");
}

TEST(WrongWhole, NamesAnUnknownBackend) {
  auto delegate = to_backend("Nobody", parse(model), {}, Registry());
  ASSERT_TRUE(is_refused(delegate));
  EXPECT_EQ(delegate.error().code, "to_backend.unknown-backend");
}

}  // namespace
}  // namespace depute
