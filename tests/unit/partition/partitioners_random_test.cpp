// What must hold for every partitioner on any method: 600 random programs with bodies in bodies.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "depute/backend/partitioners.h"
#include "depute/backend/pins.h"
#include "depute/program/program.h"
#include "depute/program/walk.h"
#include "tests/unit/partition/method_testing.h"

namespace depute {
namespace {

using Made = std::unique_ptr<Partitioner>;

ProposeOptions options(const std::string& owner, std::uint32_t variant) {
  ProposeOptions made{.owner = owner, .spec = {owner, {}}};
  made.regions.mode = static_cast<RegionMode>(variant % 3);
  made.regions.merge_unconnected = variant / 3 % 2 == 0;
  if (variant % 7 == 3) made.regions.min_nodes = 2;
  if (variant % 7 == 4) made.regions.max_nodes = 3;
  if (variant % 7 == 5) made.cost = {.launch = 2, .per_kib = 64};
  if (variant % 7 == 6) made.max_values = 4;
  made.moved_data = static_cast<MovedData>(variant % 4);
  return made;
}

SupportFunction takes(std::initializer_list<const char*> ops) {
  std::vector<OpSupport> rules;
  for (const char* op : ops) rules.push_back({op, {}});
  return [by_op = support_by_op(std::move(rules))](const Node& node) {
    if (node.op() == "aten.view_copy.default") return take_if_useful();
    if (node.op() == "aten.exp.default") return take(0);
    return by_op(node);
  };
}

// Every a with the b that computes for it.
class ConfigA : public OpConfig {
  std::string_view op() const override { return "aten.abs.default"; }
  void add_neighbors(const Node& node, std::vector<const Node*>& nodes) const override {
    add_producers(node, "aten.neg.default", nodes);
    add_only_user(node, "aten.relu.default", nodes);
  }
};
class ConfigD : public OpConfig {
  std::string_view op() const override { return "aten.sin.default"; }
  NodeSupport check(const Program&, const Method&, const Node& node) const override {
    return node.args().size() == 1 ? take() : refuse("operands", "two", "one");
  }
  void add_neighbors(const Node& node, std::vector<const Node*>& nodes) const override {
    add_producers(node, "aten.neg.default", nodes);
  }
};

Made configs(std::uint32_t variant) {
  std::vector<std::unique_ptr<OpConfig>> made;
  made.push_back(std::make_unique<ConfigA>());
  made.push_back(std::make_unique<ConfigD>());
  return std::make_unique<ConfigPartitioner>(std::move(made), options("config", variant));
}

Made patterns(std::uint32_t variant) {
  auto parsed = parse_patterns(R"(program
method chain(%x: none) {
  %a: none = aten.abs.default(match.any, match.rest)
  %b: none = aten.neg.default(%a, match.rest)
  return %b
}
method pair(%x: none) {
  %a: none = aten.relu.default(%x)
  %b: none = aten.sin.default(%x)
  return %a, %b
}
method seen(%x: none) {
  %a: none = aten.cos.default(%x, match.rest)
  %b: none = aten.abs.default(%a, match.rest)
  return %a, %b
}
)");
  EXPECT_TRUE(parsed) << parsed.error().str();
  return std::make_unique<PatternPartitioner>(std::move(*parsed), options("pattern", variant));
}

// Neighbors two by two.
Made groups(std::uint32_t variant) {
  const auto pairs = [](const Program&, const Method& method) -> Result<NodeGroups> {
    NodeGroups groups;
    for (const Graph* graph : graphs_of(method)) {
      for (const Node* node = graph->first(); node != nullptr && node->next() != nullptr;
           node = node->next()->next()) {
        if (node->op() != "aten.cos.default") groups.push_back({node, node->next()});
      }
    }
    return groups;
  };
  return std::make_unique<GroupPartitioner>(pairs, options("group", variant),
                                            takes({"aten.abs.default", "aten.neg.default"}));
}

Made several(std::uint32_t variant) {
  std::vector<std::shared_ptr<const Partitioner>> all;
  all.push_back(std::make_unique<CapabilityPartitioner>(
      takes({"aten.abs.default", "aten.neg.default", "aten.relu.default"}), options("first", variant)));
  all.push_back(groups(variant + 1));
  all.push_back(std::make_unique<CapabilityPartitioner>(
      takes({"aten.relu.default", "aten.sin.default", "aten.cos.default"}), options("last", variant + 2)));
  return std::make_unique<SeveralPartitioners>(std::move(all));
}

Made pinned(Made inner, const std::string& pin) {
  KeyValues spelled{{"off", pin}};
  auto controls = take_partition_controls("test", spelled);
  EXPECT_TRUE(controls) << controls.error().str();
  return filtered(std::move(inner), std::move(*controls));
}

std::vector<std::pair<std::string, Made>> all_partitioners(std::uint32_t variant) {
  std::vector<std::pair<std::string, Made>> made;
  made.emplace_back("capability", std::make_unique<CapabilityPartitioner>(
                                      takes({"aten.abs.default", "aten.neg.default", "aten.sin.default"}),
                                      options("one", variant)));
  made.emplace_back("with bodies",
                    std::make_unique<CapabilityPartitioner>(
                        [inner = takes({"aten.abs.default", "aten.neg.default", "aten.sin.default"})](
                            const Node& node) { return has_bodies(node) ? take() : inner(node); },
                        options("one", variant)));
  made.emplace_back("configs", configs(variant));
  made.emplace_back("patterns", patterns(variant));
  made.emplace_back("groups", groups(variant));
  made.emplace_back("whole", std::make_unique<WholeProgramPartitioner>("whole", DelegationSpec{"Whole", {}}));
  made.emplace_back("several", several(variant));
  made.emplace_back("pinned groups", pinned(groups(variant), "name:a.*"));
  made.emplace_back(
      "pinned whole",
      pinned(std::make_unique<WholeProgramPartitioner>("whole", DelegationSpec{"Whole", {}}), "name:b.*|x"));
  return made;
}

bool has_node_named(const Program& program, char letter) {
  for (const Graph* graph : graphs_of(*program.methods[0])) {
    for (const Node& node : graph->nodes()) {
      if (node.display_name().starts_with(letter)) return true;
    }
  }
  return false;
}

TEST(PartitionersRandom, EveryResultIsValidAndTheProgramUnchanged) {
  std::size_t partitions = 0;
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    const Program program = testing::random_program(seed);
    if (!has_node_named(program, 'a') || !has_node_named(program, 'b')) continue;  // pins want them
    const Method& method = *program.methods[0];
    const Hash128 before = structural_hash(program);
    for (const auto& [name, partitioner] : all_partitioners(seed)) {
      auto result = partitioner->partition(program, method);
      ASSERT_TRUE(result) << name << " seed " << seed << ": " << result.error().str();
      ASSERT_EQ(testing::broken_rule(method, *result), "") << name << " seed " << seed;
      partitions += result->partition_tags.size();
      auto again = partitioner->partition(program, method);
      ASSERT_TRUE(again);
      ASSERT_EQ(result->node_tags, again->node_tags) << name << " seed " << seed;
      ASSERT_EQ(result->verdicts, again->verdicts) << name << " seed " << seed;
      ASSERT_EQ(result->constant_tags, again->constant_tags) << name << " seed " << seed;
    }
    ASSERT_EQ(structural_hash(program), before);
  }
  EXPECT_GT(partitions, 10'000U);
}

// The tags of one result, written into the program, are the same partitions again.
TEST(PartitionersRandom, TagsOfAResultReadBack) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Program program = testing::random_program(seed);
    Method& method = *program.methods[0];
    auto result = CapabilityPartitioner(takes({"aten.abs.default", "aten.neg.default", "aten.sin.default"}),
                                        options("one", seed))
                      .partition(program, method);
    ASSERT_TRUE(result);
    std::map<const Node*, Name> tags(result->node_tags.begin(), result->node_tags.end());
    for (Graph* graph : graphs_of(method)) {
      for (Node& node : graph->nodes()) {
        if (auto tag = tags.find(&node); tag != tags.end()) node.tag = tag->second;
      }
    }
    auto tagged = TaggedPartitioner({"one", {}}).partition(program, method);
    ASSERT_TRUE(tagged);
    ASSERT_EQ(testing::broken_rule(method, *tagged), "") << "seed " << seed;
    EXPECT_EQ(tagged->node_tags, result->node_tags);
  }
}

}  // namespace
}  // namespace depute
