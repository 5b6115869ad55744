// Nothing where something should be, and what belongs to somebody else: null or foreign nodes, values,
// partitioners and backends end in an error with an id, never in a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/backend/backend.h"
#include "depute/backend/partitioner.h"
#include "depute/backend/partitioners.h"
#include "depute/backend/pins.h"
#include "lowering_testing.h"
#include "partition/tag_data.h"
#include "tests/unit/refusal_log.h"

namespace depute {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view caller = R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  graph @then(%u: f32[2], %v: f32[2], %k: f32[2]) {
    %t: f32[2] = aten.neg.default(%u)
    return %t
  }
  %a: f32[2] = aten.mul.Tensor(%x, %w)
  %p: bool[] = aten.any.default(%a)
  %b: f32[2] = higher_order.cond(%p, @then, @then, [%a, %x, %x])
  return %b
}
)";

// The id of the error that lowering ends with when the partitioner's good result is spoilt like this.
std::string code_when(const std::function<void(const Method&, PartitionResult&)>& spoil) {
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("Good", good));
  FunctionPartitioner partitioner([&](auto&, const Method& method) {
    PartitionResult result = tags(method, {{"a", "t"}});
    spoil(method, result);
    return result;
  });
  auto lowered = to_backend(parse(caller), partitioner, registry);
  return is_refused(lowered) ? lowered.error().code : "accepted";
}

TEST(WrongReferences, NullNodeIsTagged) {
  EXPECT_EQ(
      code_when([](auto&, PartitionResult& result) { result.node_tags.emplace_back(nullptr, Name("t")); }),
      "to_backend.foreign-node");
}

TEST(WrongReferences, NullValueIsTagged) {
  EXPECT_EQ(code_when([](auto&, PartitionResult& result) {
              result.constant_tags.emplace_back(nullptr, Name("t"));
            }),
            "to_backend.foreign-node");
}

TEST(WrongReferences, NullNodeHasAVerdict) {
  EXPECT_EQ(
      code_when([](auto&, PartitionResult& result) { result.verdicts.emplace_back(nullptr, Verdict()); }),
      "to_backend.foreign-node");
}

TEST(WrongReferences, NodeOfAnotherProgramHasAVerdict) {
  Program other = parse(caller);
  EXPECT_EQ(code_when([&](auto&, PartitionResult& result) {
              result.verdicts.emplace_back(other.methods[0]->graph->first(), Verdict());
            }),
            "to_backend.foreign-node");
}

TEST(WrongReferences, NullValueMayNotBeCopied) {
  EXPECT_EQ(code_when([](auto&, PartitionResult& result) { result.no_copy.push_back(nullptr); }),
            "to_backend.foreign-node");
}

TEST(WrongReferences, ValueOfABodyMayNotBeCopied) {
  // Its number is none of an input of the method.
  EXPECT_EQ(code_when([](const Method& method, PartitionResult& result) {
              result.no_copy.push_back(method.bodies.front()->inputs()[2]);
            }),
            "to_backend.foreign-node");
}

TEST(WrongReferences, ValueOfAnotherProgramMayNotBeCopied) {
  Program other = parse(caller);
  EXPECT_EQ(code_when([&](auto&, PartitionResult& result) {
              result.no_copy.push_back(other.methods[0]->graph->inputs()[0]);
            }),
            "to_backend.foreign-node");
}

TEST(WrongReferences, EmptyTagHasASpec) {
  auto spoil = [](const Method& method, PartitionResult& result) {
    result.partition_tags[Name()] = {"Good", {}};
    result.node_tags = {{method.graph->first(), Name()}};
  };
  EXPECT_EQ(code_when(spoil), "to_backend.empty-tag");
}

TEST(WrongReferences, PartitionerIsNull) {
  auto lowered = to_backend(parse(caller), {{"forward", nullptr}}, Registry());
  ASSERT_TRUE(is_refused(lowered));
  EXPECT_EQ(lowered.error().code, "to_backend.no-partitioner");
  EXPECT_THAT(lowered.error().where, HasSubstr("method forward"));
}

TEST(WrongReferences, TaggingHelpersStandNullConstants) {
  Program program = parse(caller);
  PartitionResult result = tags(*program.methods[0], {{"a", "t"}});
  result.constant_tags.emplace_back(nullptr, Name("t"));
  tag_constant_data(*program.methods[0], result);
  EXPECT_EQ(result.constant_tags.size(), 2u);
}

// --- proposals

ProposeOptions good_options() {
  return {.owner = "good", .spec = {"Good", {}}};
}

NodeSupport take_all(const Node&) {
  return take();
}

// What each way of planning says of a group.
void expect_group_is_refused(const Program& program, std::vector<const Node*> group, std::string_view why) {
  const Method& method = *program.methods[0];
  ProposeOptions options = good_options();
  options.groups = {group};
  auto proposed = propose_partitions(program, method, take_all, options);
  auto groups = [&](auto&, auto&) { return NodeGroups{group}; };
  auto grouped = GroupPartitioner(groups, good_options()).partition(program, method);
  PartitionControls controls;
  ASSERT_TRUE(controls.pins.add(Pins::Rule::Off, "op:mul").has_value());
  auto inner = std::make_unique<GroupPartitioner>(groups, good_options());
  auto pinned = filtered(std::move(inner), controls)->partition(program, method);
  for (const auto* result : {&proposed, &grouped, &pinned}) {
    ASSERT_TRUE(is_refused(*result));
    EXPECT_EQ(result->error().code, "partition");
    EXPECT_THAT(result->error().message, HasSubstr(why));
  }
}

TEST(WrongReferences, GroupHasANullNode) {
  Program program = parse(caller);
  expect_group_is_refused(program, {nullptr}, "null node");
  expect_group_is_refused(program, {program.methods[0]->graph->first(), nullptr}, "null node");
}

TEST(WrongReferences, GroupHasANodeOfAnotherProgram) {
  Program program = parse(caller);
  Program other = parse(caller);
  expect_group_is_refused(program, {other.methods[0]->graph->first()}, "is not in method forward");
}

TEST(WrongReferences, GroupHasTheOutputs) {
  Program program = parse(caller);
  expect_group_is_refused(program, {program.methods[0]->graph->return_node()}, "return node");
}

TEST(WrongReferences, ProposalHasNoSupportFunction) {
  Program program = parse(caller);
  auto result = propose_partitions(program, *program.methods[0], {}, good_options());
  ASSERT_TRUE(is_refused(result));
  EXPECT_EQ(result.error().code, "partition");
}

TEST(WrongReferences, OneOfSeveralPartitionersIsNull) {
  std::vector<std::shared_ptr<const Partitioner>> partitioners(2);
  partitioners[0] =
      std::make_unique<GroupPartitioner>([](auto&, auto&) { return NodeGroups(); }, good_options());
  SeveralPartitioners several(std::move(partitioners));
  Program program = parse(caller);
  EXPECT_TRUE(several.ops_to_not_decompose(program).ops.empty());
  auto result = several.partition(program, *program.methods[0]);
  ASSERT_TRUE(is_refused(result));
  EXPECT_THAT(result.error().message, HasSubstr("partitioner 2 of 2 is null"));
}

// --- backends

BackendEntry entry_of(std::string name, std::unique_ptr<Backend> backend) {
  BackendEntry entry;
  entry.name = std::move(name);
  entry.backend = std::move(backend);
  return entry;
}

std::string refusal(BackendEntry entry) {
  Registry registry;
  Status added = registry.add(std::move(entry));
  EXPECT_TRUE(registry.entries().empty());
  return added ? "accepted" : added.error().str();
}

TEST(WrongReferences, EntryHasNoBackend) {
  EXPECT_THAT(refusal(entry_of("mine", nullptr)), HasSubstr("[registry] mine: the entry has no backend"));
}

TEST(WrongReferences, EntryHasNoName) {
  EXPECT_THAT(refusal(entry_of("", std::make_unique<FunctionBackend>("Good", good))), HasSubstr("name"));
}

TEST(WrongReferences, BackendHasAnEmptyId) {
  EXPECT_THAT(refusal(entry_of("mine", std::make_unique<FunctionBackend>("", good))),
              HasSubstr("id is empty"));
}

TEST(WrongReferences, EntryGivesNoPartitioner) {
  BackendEntry entry = entry_of("mine", std::make_unique<FunctionBackend>("Good", good));
  auto none = make_partitioner(entry, {});
  ASSERT_TRUE(is_refused(none));
  EXPECT_EQ(none.error().code, "registry");
  entry.make_partitioner = [](auto&) { return std::unique_ptr<Partitioner>(); };
  auto null = make_partitioner(entry, {});
  ASSERT_TRUE(is_refused(null));
  EXPECT_THAT(null.error().str(), HasSubstr("mine: its make_partitioner() returned null"));
}

TEST(WrongReferences, EntryTellsNoSupport) {
  BackendEntry entry = entry_of("mine", std::make_unique<FunctionBackend>("Good", good));
  auto matrix = support_matrix(entry);
  ASSERT_TRUE(is_refused(matrix));
  EXPECT_EQ(matrix.error().code, "registry");
}

TEST(WrongReferences, MappingBuilderGetsANullNode) {
  DelegateMappingBuilder builder(DelegateMappingBuilder::Identifiers::Generated);
  Program program = parse(caller);
  Node* node = program.methods[0]->graph->first();
  node->debug_handle = 1;
  auto inserted = builder.insert({node, nullptr});
  ASSERT_TRUE(is_refused(inserted));
  EXPECT_EQ(inserted.error().code, "delegate_mapping");
  EXPECT_TRUE(builder.mapping().empty());
  EXPECT_EQ(*builder.insert({node}), DelegateDebugId(std::int64_t{0})) << "a failed insert burns no id";
}

}  // namespace
}  // namespace depute
