// The delegation contract: lowering again, delegates inside delegates, and named data. docs/contract.md names
// these tests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/backend/backend.h"
#include "depute/program/interpret.h"
#include "depute/program/program.h"
#include "lowering_testing.h"
#include "support/try.h"
#include "tests/unit/refusal_log.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Program neg_relu() {
  return parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.neg.default(%x) #1
  %b: f32[2] = aten.relu.default(%a) #2
  return %b
}
)");
}

// Hands the node `name` alone to `backend`, as the delegate `tag`.
Result<Lowered> lower_node(const Program& program, const char* name, const char* tag, const char* backend,
                           const Registry& registry) {
  return to_backend(program, FunctionPartitioner([&](auto&, const Method& method) {
                      return tags(method, {{name, tag}}, backend);
                    }),
                    registry);
}

TEST(Contract, SeveralPartitionersRunOneAfterAnother) {
  Program program = parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = aten.neg.default(%x)
  %b: f32[2] = aten.relu.default(%a)
  %c: f32[2] = aten.tan.default(%b)
  return %c
}
)");
  auto first = lower_node(program, "a", "one", "A", registry_of_a_and_b());
  ASSERT_TRUE(first.has_value()) << first.error().str();
  auto second = lower_node(first->program, "c", "two", "B", registry_of_a_and_b());
  ASSERT_TRUE(second.has_value()) << second.error().str();
  expect_sound(second->program);
  EXPECT_EQ(op_names(*second->program.methods[0]->graph), "delegate.call;aten.relu.default;delegate.call;");
}

TEST(Contract, DelegateMayBePartOfAnotherDelegateWithItsNamedData) {
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("A", [](const Program& given) {
        Result<PreprocessResult> result = name_ops(given);
        result->data_store_output.push_back({.key = "weights", .storage = storage_of("w"), .alignment = 64});
        return result;
      }));
  add(registry, std::make_unique<FunctionBackend>("B", name_ops));
  auto first = lower_node(neg_relu(), "a", "inside", "A", registry);
  ASSERT_TRUE(first.has_value()) << first.error().str();
  auto second = to_backend(first->program, FunctionPartitioner([](auto&, const Method& method) {
                             PartitionResult result;
                             result.partition_tags[Name("outside")] = {"B", {}};
                             for (const Node& node : method.graph->nodes())
                               result.node_tags.emplace_back(&node, Name("outside"));
                             return result;
                           }),
                           registry);
  ASSERT_TRUE(second.has_value()) << second.error().str();
  expect_sound(second->program);
  EXPECT_THAT(delegate_names(second->program), ElementsAre("outside"));
  EXPECT_THAT(delegate_names(*second->program.delegates[0]->original), ElementsAre("inside"));
  EXPECT_EQ(text_of(*second->program.delegates[0]->processed_bytes), "delegate.call;aten.relu.default;");
  auto data = merge_named_data(second->program);
  ASSERT_TRUE(data.has_value());
  ASSERT_EQ(data->entries().size(), 1u);
  EXPECT_EQ(data->entries()[0].alignment, 64u);
  auto outputs = interpret(second->program, *second->program.methods[0], std::vector{floats({-1, 2})});
  ASSERT_TRUE(outputs.has_value()) << outputs.error().str();
  EXPECT_EQ(first_float((*outputs)[0]), 1.0f);
}

TEST(Contract, ArenaPaddingIsTheMostOfADelegateAndThoseNestedInIt) {
  Registry registry;
  for (auto [id, padding] : {std::pair("A", 64u), std::pair("B", 16u)}) {
    add(registry, std::make_unique<FunctionBackend>(id, [padding](const Program& given) {
          Result<PreprocessResult> result = name_ops(given);
          result->arena_padding = padding;
          result->inline_bytes = padding == 64;
          return result;
        }));
  }
  auto inside = lower_node(neg_relu(), "a", "in", "A", registry);
  ASSERT_TRUE(inside.has_value()) << inside.error().str();
  EXPECT_EQ(inside->program.delegates[0]->arena_padding, 64u);
  auto around_other = to_backend("B", inside->program, {}, registry);
  ASSERT_TRUE(around_other.has_value()) << around_other.error().str();
  EXPECT_EQ(around_other->arena_padding, 64u);
  EXPECT_TRUE(around_other->inline_bytes);
  auto alone = to_backend("B", neg_relu(), {}, registry);
  ASSERT_TRUE(alone.has_value()) << alone.error().str();
  EXPECT_EQ(alone->arena_padding, 16u);
  EXPECT_FALSE(alone->inline_bytes);
}

// A backend around another one's delegate knows its nodes by their own handles, or by that of the call.
TEST(Contract, DebugMapsMayNameHandlesOfNestedDelegates) {
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("A", name_ops));
  add(registry, std::make_unique<FunctionBackend>("B", [](const Program& given) {
        Result<PreprocessResult> result = name_ops(given);
        const Node& call = *given.methods[0]->graph->first();
        result->debug_handle_map = {{"call", {call.debug_handle}}, {"inside", {1}}, {"own", {2}}};
        return result;
      }));
  auto inside = lower_node(neg_relu(), "a", "in", "A", registry);
  ASSERT_TRUE(inside.has_value()) << inside.error().str();
  auto delegate = to_backend("B", inside->program, {}, registry);
  ASSERT_TRUE(delegate.has_value()) << delegate.error().str();
  DebugHandleMap want = {{"call", {3}}, {"inside", {1}}, {"own", {2}}};
  EXPECT_EQ(delegate->debug_handle_map, want);
}

TEST(Contract, BackendMayLowerInsidePreprocess) {
  Registry inner_registry = registry_of_a_and_b();
  Registry registry;
  add(registry,
      std::make_unique<FunctionBackend>("Outer", [&](const Program& program) -> Result<PreprocessResult> {
        TRY(Delegate delegate, to_backend("A", program, {}, inner_registry));
        return PreprocessResult{.processed_bytes =
                                    storage_of("outer(" + text_of(*delegate.processed_bytes) + ")")};
      }));
  auto delegate = to_backend(
      "Outer",
      parse("program\nmethod forward(%x: f32[2]) {\n  %a: f32[2] = aten.neg.default(%x)\n  return %a\n}\n"),
      {}, registry);
  ASSERT_TRUE(delegate.has_value()) << delegate.error().str();
  EXPECT_EQ(text_of(*delegate->processed_bytes), "outer(aten.neg.default;)");
}

TEST(NamedData, EqualKeysAndBytesAreOneEntryWithTheStrictestAlignment) {
  NamedDataStore store;
  ASSERT_TRUE(store.add("k", storage_of("abc"), 16).has_value());
  ASSERT_TRUE(store.add("k", storage_of("abc"), 64).has_value());
  ASSERT_TRUE(store.add("k", storage_of("abc"), 4).has_value());
  ASSERT_EQ(store.entries().size(), 1u);
  EXPECT_EQ(store.entries()[0].alignment, 64u);
}

TEST(NamedData, OneKeyWithTwoContentsIsRefused) {
  NamedDataStore store;
  ASSERT_TRUE(store.add({.key = "k", .storage = storage_of("abc")}, "delegate one").has_value());
  Status again = store.add({.key = "k", .storage = storage_of("abd")}, "delegate two");
  ASSERT_TRUE(is_refused(again));
  EXPECT_THAT(again.error().str(), HasSubstr("delegate one"));
  EXPECT_THAT(again.error().str(), HasSubstr("delegate two"));
}

}  // namespace
}  // namespace depute
