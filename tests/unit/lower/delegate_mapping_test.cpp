// DelegateMappingBuilder: generated and given identifiers, and each error.
#include "depute/backend/backend.h"
#include "tests/unit/refusal_log.h"

#include <gtest/gtest.h>

namespace depute {
namespace {

using Identifiers = DelegateMappingBuilder::Identifiers;

std::vector<std::uint32_t> handles(std::initializer_list<std::uint32_t> list) {
  return list;
}

TEST(DelegateMapping, GeneratedIdentifiersCountFromZero) {
  DelegateMappingBuilder builder(Identifiers::Generated);
  EXPECT_EQ(builder.insert_handles(handles({2, 1, 2})), DelegateDebugId(std::int64_t{0}));
  EXPECT_EQ(builder.insert_handles(handles({3})), DelegateDebugId(std::int64_t{1}));
  DebugHandleMap expected = {{std::int64_t{0}, {1, 2}}, {std::int64_t{1}, {3}}};
  EXPECT_EQ(builder.mapping(), expected);
}

TEST(DelegateMapping, GivenIdentifiersMayBeNumbersOrTexts) {
  DelegateMappingBuilder builder(Identifiers::Given);
  EXPECT_TRUE(builder.insert_handles(handles({1}), DelegateDebugId("conv")).has_value());
  EXPECT_TRUE(builder.insert_handles(handles({2}), DelegateDebugId(std::int64_t{7})).has_value());
  EXPECT_EQ(builder.mapping().size(), 2u);
}

TEST(DelegateMapping, Errors) {
  DelegateMappingBuilder generated(Identifiers::Generated);
  EXPECT_TRUE(is_refused(generated.insert_handles(handles({1}), DelegateDebugId("x"))));
  EXPECT_TRUE(is_refused(generated.insert_handles(handles({0, 0}))));
  EXPECT_TRUE(is_refused(generated.insert_handles({})));
  EXPECT_EQ(generated.insert_handles(handles({1})), DelegateDebugId(std::int64_t{0}))
      << "a failed insert burns no id";

  DelegateMappingBuilder given(Identifiers::Given);
  EXPECT_TRUE(is_refused(given.insert_handles(handles({1}))));
  EXPECT_TRUE(given.insert_handles(handles({1}), DelegateDebugId("x")).has_value());
  EXPECT_TRUE(is_refused(given.insert_handles(handles({2}), DelegateDebugId("x"))));
}

TEST(DelegateMapping, ZeroHandlesAreDropped) {
  Graph graph;
  Value* x = graph.add_input(Name("x"), Type{});
  Node* a = graph.add(Name("a"), {Argument::of(x)}, {}, {{Name("a"), Type{}}});
  Node* b = graph.add(Name("b"), {Argument::of(x)}, {}, {{Name("b"), Type{}}});
  a->debug_handle = 5;
  DelegateMappingBuilder builder(Identifiers::Generated);
  ASSERT_TRUE(builder.insert({a, b}).has_value());
  EXPECT_EQ(builder.mapping()[0].second, handles({5}));
}

}  // namespace
}  // namespace depute
