// What text cannot say about partitioners: objects and functions that C++ gives them, and what it asks of
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "depute/backend/partitioner.h"
#include "depute/backend/partitioners.h"
#include "depute/backend/pins.h"
#include "depute/program/walk.h"
#include "partition/tag_data.h"
#include "tests/unit/partition/method_testing.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PartitionResult partition(const Partitioner& partitioner, const Program& program) {
  auto result = partitioner.partition(program, *program.methods[0]);
  EXPECT_TRUE(result) << result.error().str();
  EXPECT_EQ(testing::broken_rule(*program.methods[0], *result), "");
  return std::move(*result);
}

// "name: tag" or "name: rule" of each node.
std::vector<std::string> decisions(const PartitionResult& result) {
  const std::map<const Node*, Name> tags(result.node_tags.begin(), result.node_tags.end());
  std::vector<std::string> lines;
  for (const auto& [node, verdict] : result.verdicts) {
    auto tag = tags.find(node);
    lines.push_back(std::string(node->display_name()) + ": " +
                    (tag == tags.end() ? verdict.rule : std::string(tag->second.str())));
  }
  return lines;
}

ProposeOptions mine() {
  return {.owner = "mine", .spec = {"Mine", {}}};
}

// --- configs

class ConvConfig : public OpConfig {
  std::string_view op() const override { return "op.conv.default"; }
  NodeSupport check(const Program&, const Method&, const Node& node) const override {
    return node.args().size() > 1 ? take() : refuse("weight", "none", "one");
  }
  void add_neighbors(const Node& node, std::vector<const Node*>& nodes) const override {
    add_producers(node, "op.dequantize.default", nodes);
    add_only_user(node, "op.relu.default", nodes);
  }
  bool keeps_whole(const Node& node) const override { return node.args().size() > 2; }
};

std::unique_ptr<Partitioner> config_partitioner(ProposeOptions options = mine()) {
  std::vector<std::unique_ptr<OpConfig>> configs;
  configs.push_back(std::make_unique<ConvConfig>());
  return std::make_unique<ConfigPartitioner>(std::move(configs), std::move(options));
}

TEST(ConfigPartitioner, TakesNeighborsAlongAndUnitesWhatOverlaps) {
  const Program program = parse(R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2], %y: f32[2]) {
  %d: f32[2] = op.dequantize.default(%x)
  %a: f32[2] = op.conv.default(%d, %w)
  %r: f32[2] = op.relu.default(%a)
  %b: f32[2] = op.conv.default(%d, %w)
  %e: f32[2] = op.dequantize.default(%y)
  %c: f32[2] = op.conv.default(%e, %w)
  %s: f32[2] = op.relu.default(%c)
  %f: f32[2] = op.conv.default(%e)
  return %r, %b, %c, %s, %f
}
)");
  ProposeOptions options = mine();
  options.regions.mode = RegionMode::Apart;
  const PartitionResult result = partition(*config_partitioner(std::move(options)), program);
  // a and b share d; c shares only the weight with them, and its relu is not its only reader.
  EXPECT_THAT(decisions(result), ElementsAre("d: mine0", "a: mine0", "r: mine0", "b: mine0", "e: mine1",
                                             "c: mine1", "s: no-config", "f: weight"));
  EXPECT_EQ(result.constant_tags.size(), 2U);
}

TEST(ConfigPartitioner, OneConfigPerOp) {
  const Program program = parse("program\nmethod forward(%x: f32[2]) {\n  return %x\n}\n");
  std::vector<std::unique_ptr<OpConfig>> configs;
  configs.push_back(std::make_unique<ConvConfig>());
  configs.push_back(std::make_unique<ConvConfig>());
  auto result = ConfigPartitioner(std::move(configs), mine()).partition(program, *program.methods[0]);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().where, "op.conv.default");
}

TEST(ConfigPartitioner, KeepsWholeWhatItsConfigsSay) {
  const Program program = parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = op.conv.default(%x, %x, %x)
  %b: f32[2] = op.conv.default(%x, %x)
  return %a, %b
}
)");
  const OpsToNotDecompose kept = config_partitioner()->ops_to_not_decompose(program);
  EXPECT_THAT(kept.ops, ElementsAre(Name("op.conv.default")));
  const Node* first = program.methods[0]->graph->first();
  EXPECT_TRUE(kept.filter(*first));
  EXPECT_FALSE(kept.filter(*first->next()));
}

// --- several

class Keeper : public CapabilityPartitioner {
 public:
  Keeper(std::string op, bool with_filter)
      : CapabilityPartitioner(support_by_op({{op, {}}}), {.owner = op, .spec = {op, {}}}),
        op_(op),
        with_filter_(with_filter) {}
  OpsToNotDecompose ops_to_not_decompose(const Program&) const override {
    OpsToNotDecompose kept{.ops = {Name(op_)}, .filter = {}};
    if (with_filter_) kept.filter = [](const Node& node) { return node.args().size() == 1; };
    return kept;
  }

 private:
  std::string op_;
  bool with_filter_;
};

TEST(SeveralPartitioners, KeepWholeWhatAnyOfThemWants) {
  const Program program = parse(R"(program
method forward(%x: f32[2]) {
  %a: f32[2] = op.a.default(%x)
  %b: f32[2] = op.a.default(%x, %x)
  %c: f32[2] = op.b.default(%x, %x)
  %d: f32[2] = op.c.default(%x)
  return %a, %b, %c, %d
}
)");
  std::vector<std::shared_ptr<const Partitioner>> both;
  both.push_back(std::make_unique<Keeper>("op.a.default", true));
  both.push_back(std::make_unique<Keeper>("op.b.default", false));
  const SeveralPartitioners several(std::move(both));
  const OpsToNotDecompose kept = several.ops_to_not_decompose(program);
  std::vector<bool> keeps;
  for (const Node& node : program.methods[0]->graph->nodes()) keeps.push_back(kept.filter(node));
  EXPECT_THAT(keeps, ElementsAre(true, false, true, false));
}

// Names that run together: the eleventh tag of "a" would be the first of "a1".
TEST(SeveralPartitioners, TagsAreUniqueWhateverTheNames) {
  std::string text = "program\nmethod forward(%x: f32[2]) {\n  %v0: f32[2] = op.a.default(%x)\n";
  for (int i = 1; i < 40; ++i) {
    text += "  %v" + std::to_string(i) + ": f32[2] = op." + (i % 2 == 0 ? "a" : "b") + ".default(%v" +
            std::to_string(i - 1) + ")\n";
  }
  const Program program = parse(text + "  return %v39\n}\n");
  std::vector<std::shared_ptr<const Partitioner>> both;
  both.push_back(std::make_unique<CapabilityPartitioner>(support_by_op({{"op.a.default", {}}}),
                                                         ProposeOptions{.owner = "a", .spec = {"A", {}}}));
  both.push_back(std::make_unique<CapabilityPartitioner>(support_by_op({{"op.b.default", {}}}),
                                                         ProposeOptions{.owner = "a1", .spec = {"B", {}}}));
  const PartitionResult result = partition(SeveralPartitioners(std::move(both)), program);
  EXPECT_EQ(result.partition_tags.size(), 40U);
  for (const auto& [node, tag] : result.node_tags)
    EXPECT_EQ(result.partition_tags.at(tag).backend_id, node->op() == "op.a.default" ? "A" : "B");
}

// --- under controls

// Takes all nodes by itself, without a proposal.
class Greedy : public Partitioner {
 public:
  Result<PartitionResult> partition(const Program&, const Method& method) const override {
    PartitionResult result;
    result.partition_tags[Name("all")] = {"Greedy", {}};
    for (const Node& node : method.graph->nodes()) {
      result.node_tags.emplace_back(&node, Name("all"));
      result.verdicts.emplace_back(&node, Verdict{.delegated = true, .owner = "Greedy"});
    }
    tag_constant_data(method, result);
    return result;
  }
};

std::unique_ptr<Partitioner> controlled(std::unique_ptr<Partitioner> inner, KeyValues options) {
  auto controls = take_partition_controls("test", options);
  EXPECT_TRUE(controls) << controls.error().str();
  return filtered(std::move(inner), std::move(*controls));
}

constexpr const char* small_program = R"(program
data "w": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[2] = op.a.default(%x, %w)
  %b: f32[2] = op.b.default(%a)
  return %b
}
)";

TEST(FilteredPartitioner, APartitionerThatTakesWhateverItSeesIsFoundOut) {
  const Program program = parse(small_program);
  auto result =
      controlled(std::make_unique<Greedy>(), {{"off", "node:b"}})->partition(program, *program.methods[0]);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().where, "forward, %b (op.b.default)");
}

TEST(FilteredPartitioner, ResultsOfTheCopyAreThoseOfTheProgram) {
  Program program = parse(small_program);
  program.methods[0]->graph->first()->tag = Name("t");
  const PartitionResult result = partition(
      *controlled(std::make_unique<TaggedPartitioner>(DelegationSpec{"Tagged", {}}), {{"off", "node:b"}}),
      program);
  EXPECT_EQ(result.node_tags[0].first, program.methods[0]->graph->first());
  ASSERT_EQ(result.constant_tags.size(), 1U);
  EXPECT_EQ(result.constant_tags[0].first, program.methods[0]->graph->inputs()[0]);
}

// Draws its partition by itself, with a constant that may not be copied.
class Careful : public Partitioner {
 public:
  Result<PartitionResult> partition(const Program&, const Method& method) const override {
    PartitionResult result;
    result.no_copy = {given == nullptr ? method.graph->inputs()[0] : given};
    result.verdicts.emplace_back(judged == nullptr ? method.graph->first() : judged, Verdict());
    return result;
  }
  const Value* given = nullptr;
  const Node* judged = nullptr;
};

TEST(FilteredPartitioner, APinKeepsWhatMayNotBeCopied) {
  const Program program = parse(small_program);
  auto result =
      controlled(std::make_unique<Careful>(), {{"off", "node:b"}})->partition(program, *program.methods[0]);
  ASSERT_TRUE(result) << result.error().str();
  EXPECT_THAT(result->no_copy, ElementsAre(program.methods[0]->graph->inputs()[0]));
}

TEST(FilteredPartitioner, WhatIsNotInTheCopyIsRefused) {
  const Program program = parse(small_program);
  auto foreign_value = std::make_unique<Careful>();
  foreign_value->given = program.methods[0]->graph->inputs()[0];
  auto foreign_node = std::make_unique<Careful>();
  foreign_node->judged = program.methods[0]->graph->first();
  for (auto* partitioner : {&foreign_value, &foreign_node}) {
    auto result =
        controlled(std::move(*partitioner), {{"off", "node:b"}})->partition(program, *program.methods[0]);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, "partition");
  }
}

TEST(FilteredPartitioner, WithoutControlsItIsThePartitionerItself) {
  auto partitioner = std::make_unique<Greedy>();
  const Partitioner* before = partitioner.get();
  EXPECT_EQ(controlled(std::move(partitioner), {}).get(), before);
}

TEST(PartitionControls, LeaveTheBackendsOwnOptions) {
  KeyValues options{{"off", "op:gelu"}, {"layer_norm", "true"}, {"mode", "fx"}, {"exclude", "gelu"}};
  auto controls = take_partition_controls("xnnpack", options);
  ASSERT_TRUE(controls);
  EXPECT_EQ(controls->mode, RegionMode::Fx);
  EXPECT_EQ(options, (KeyValues{{"layer_norm", "true"}, {"exclude", "gelu"}}));
  for (const auto& [key, meaning] : partition_control_meanings()) {
    KeyValues bad{{key, ":"}};
    EXPECT_FALSE(take_partition_controls("xnnpack", bad)) << key;
    EXPECT_FALSE(meaning.empty());
  }
}

// A backend's own limit stays when the user asks for more.
TEST(FilteredPartitioner, AUsersLimitOnlyLowersTheBackends) {
  const Program program = parse(small_program);
  ProposeOptions options = mine();
  options.regions.max_nodes = 1;
  const auto take_all = [](const Node&) { return take(); };
  const PartitionResult result =
      partition(*controlled(std::make_unique<CapabilityPartitioner>(take_all, std::move(options)),
                            {{"max_nodes", "5"}}),
                program);
  EXPECT_EQ(result.partition_tags.size(), 2U);
}

// Delegates that an earlier backend made hold the nodes that a pin names.
TEST(Pins, NodesInDelegatesAreKnown) {
  Program program = parse(small_program);
  Pins pins;
  ASSERT_TRUE(pins.add(Pins::Rule::Off, "node:gone"));
  EXPECT_FALSE(pins.check_known(program));
  auto delegate = std::make_unique<Delegate>();
  delegate->original = std::make_shared<Program>(parse(R"(program
method forward(%x: f32[2]) {
  %gone: f32[2] = op.a.default(%x)
  return %gone
}
)"));
  program.delegates.push_back(std::move(delegate));
  EXPECT_TRUE(pins.check_known(program));
}

// Backtracking would need 2^64 steps.
TEST(Pins, HostileExpressionsMatchInLinearTime) {
  const Program program = parse("program\nmethod forward(%x: f32[2]) {\n  %" + std::string(64, 'a') +
                                ": f32[2] = op.a.default(%x)\n  return %x\n}\n");
  Pins pins;
  ASSERT_TRUE(pins.add(Pins::Rule::Off, "name:(a*)*(a*)*(a|aa)*b"));
  EXPECT_FALSE(pins.check_known(program));
  EXPECT_FALSE(pins.add(Pins::Rule::Off, "name:" + std::string(max_pin_regex + 1, '(')));
  EXPECT_FALSE(pins.add(Pins::Rule::Off, "name:" + std::string(max_pin_regex, '(')));
}

// --- bodies and data

TEST(Bodies, ADeepNestIsWalkedWithoutRecursion) {
  Program program;
  Method& method = program.add_method(Name("forward"));
  const Type type = tensor_type(make_tensor(ScalarType::F32, {2}));
  const std::size_t depth = 30'000;
  for (std::size_t i = 0; i < depth; ++i)
    method.bodies.push_back(std::make_unique<Graph>(Name("b" + std::to_string(i))));
  const auto fill = [&](Graph& graph, Graph* body) {
    Value* x = graph.add_input(Name("x"), type);
    const ResultSpec result{Name("y"), type};
    std::vector<Argument> args{Argument::of(x)};
    if (body != nullptr) args.push_back(Argument::of(body));
    const Argument output = Argument::of(graph.add(Name("op.a.default"), args, {}, {&result, 1})->result());
    graph.set_outputs({&output, 1});
  };
  fill(*method.graph, method.bodies[0].get());
  method.inputs.push_back({});
  method.outputs.push_back({});
  for (std::size_t i = 0; i < depth; ++i)
    fill(*method.bodies[i], i + 1 < depth ? method.bodies[i + 1].get() : nullptr);

  const auto take_leaf = [](const Node& node) { return has_bodies(node) ? refuse("op") : take(); };
  auto result = propose_partitions(program, method, take_leaf, mine());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdicts.size(), depth + 1);
  EXPECT_EQ(result->node_tags.size(), 1U);
  auto whole = propose_partitions(program, method, [](const Node&) { return take(); }, mine());
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->verdicts.size(), depth + 1);
  EXPECT_EQ(whole->node_tags.size(), 1U);
}

// No verified program has one; a walk ends all the same.
TEST(Bodies, ABodyThatCallsItselfEnds) {
  Program program = parse(small_program);
  Method& method = *program.methods[0];
  method.bodies.push_back(std::make_unique<Graph>(Name("loop")));
  Graph& body = *method.bodies.back();
  for (Graph* graph : {method.graph.get(), &body})
    graph->add(Name("op.c.default"), {Argument::of(&body)}, {}, {});
  EXPECT_EQ(graphs_of(method).size(), 2U);
  auto result = propose_partitions(program, method, [](const Node&) { return take(); }, mine());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdicts.size(), 4U);
}

TEST(ProposePartitions, AGroupOverTwoGraphsIsAnError) {
  const Program program = parse(R"(program
method forward(%x: f32[2]) {
  graph @each(%x: f32[2]) {
    %i: f32[2] = op.a.default(%x)
    return %i
  }
  %m: f32[2] = higher_order.map_impl(@each, [%x], [])
  return %m
}
)");
  ProposeOptions options = mine();
  options.groups = {{program.methods[0]->graph->first(), program.methods[0]->bodies[0]->first()}};
  auto result = propose_partitions(program, *program.methods[0], [](const Node&) { return take(); }, options);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().where, HasSubstr("each, %i"));
}

TEST(TagData, AddsNothingTwice) {
  const Program program = parse(R"(program
data "w": f32[2] = [1, 2]
data "s": f32[2] = [1, 2]
method forward(%w: f32[2] = param "w", %s: f32[2] = buffer "s", %x: f32[2]) {
  %a: f32[2] = op.a.default(%w, %x, %w, %s)
  store buffer "s" = %a
  return %a
}
)");
  const Method& method = *program.methods[0];
  PartitionResult result;
  result.partition_tags[Name("t")] = {"Mine", {}};
  result.node_tags.emplace_back(method.graph->first(), Name("t"));
  for (int i = 0; i < 2; ++i) {
    tag_constant_data(method, result);
    EXPECT_THAT(tag_mutated_buffer(program, method, result), IsEmpty());
  }
  EXPECT_EQ(result.constant_tags.size(), 2U);
}

}  // namespace
}  // namespace depute
