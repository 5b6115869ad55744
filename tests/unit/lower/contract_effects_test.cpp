// Nodes with effects must keep their order wherever a program is cut, or the cut is refused; planned partitions
// are never refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "depute/backend/partitioner.h"
#include "depute/backend/pins.h"
#include "tests/unit/lower/lowering_testing.h"

namespace depute {
namespace {

using ::testing::HasSubstr;

// A method of `count` nodes with the debug handles 1, 2, ...: a third of them without effects.
Program random_program(std::mt19937& random, int count) {
  std::string text =
      "program\nmethod forward(%p: bool[], %v0: f32[4]) {\n"
      "graph @body(%x: f32[4]) {\n%r: f32[4] = aten.rand_like.default(%x)\nreturn %r\n}\n";
  for (int i = 1; i <= count; ++i) {
    const std::string operand = "%v" + std::to_string(random() % static_cast<unsigned>(i));
    const char* ops[] = {"aten.neg.default(", "aten.neg.default(", "aten.rand_like.default(",
                         "some.unknown_op(", "higher_order.cond(%p, @body, @body, ["};
    const std::size_t op = random() % 5;
    text += "%v" + std::to_string(i) + ": f32[4] = " + ops[op] + operand + (op == 4 ? "])" : ")") + " #" +
            std::to_string(i) + "\n";
  }
  text += "return ";
  for (int i = 1; i <= count; ++i) text += (i == 1 ? "%v" : ", %v") + std::to_string(i);
  return parse(text + "\n}\n");
}

void add_effects(const Program& program, std::vector<std::uint32_t>& handles) {
  for (const Node& node : program.methods.front()->graph->nodes()) {
    if (!node.args().empty() && node.arg(0).kind == Argument::Kind::Delegate) {
      for (const auto& delegate : program.delegates) {
        if (delegate->name == node.arg(0).as_symbol()) add_effects(*delegate->original, handles);
      }
    } else if (node.op().str() != "aten.neg.default") {
      handles.push_back(node.debug_handle);
    }
  }
}

// The handles of nodes with effects, in the order in which they run.
std::vector<std::uint32_t> effects_in_order(const Program& program) {
  std::vector<std::uint32_t> handles;
  add_effects(program, handles);
  return handles;
}

Result<Lowered> lower(const Program& program, const Partitioner& partitioner) {
  return to_backend(program, partitioner, Registry(), {.without_payloads = true});
}

TEST(Effects, KeepTheirOrderOrTheCutIsRefused) {
  int kept = 0;
  int refused = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Program program = random_program(random, 8);
    const FunctionPartitioner partitioner([&](const Program&, const Method& method) {
      PartitionResult result;
      for (const Node& node : method.graph->nodes()) {
        if (random() % 2 == 0) continue;
        const Name tag(random() % 2 == 0 ? "t0" : "t1");
        result.partition_tags[tag] = {"A", {}};
        result.node_tags.emplace_back(&node, tag);
      }
      return result;
    });
    const auto lowered = lower(program, partitioner);
    if (!lowered) {
      EXPECT_EQ(lowered.error().code, "to_backend.dependency-cycle");
      ++refused;
      continue;
    }
    ++kept;
    EXPECT_EQ(effects_in_order(lowered->program), effects_in_order(program)) << seed << print(program);
  }
  EXPECT_GT(kept, 50);
  EXPECT_GT(refused, 50);
}

// A partitioner that plans by itself, and tells nothing of how.
class OpaquePartitioner : public Partitioner {
 public:
  explicit OpaquePartitioner(unsigned seed) : seed_(seed) {}
  Result<PartitionResult> partition(const Program& program, const Method& method) const override {
    const auto takes = [this](const Node& node) {
      return node.op().str().starts_with("depute.") || (node.debug_handle * 2654435761u + seed_) % 8 < 2
                 ? refuse("op")
                 : take();
    };
    return propose_partitions(program, method,
                              Proposal{.support = takes, .options = {.owner = "a", .spec = {"A", {}}}});
  }

 private:
  unsigned seed_;
};

TEST(Effects, PlannedPartitionsAreNeverRefused) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const Program program = random_program(random, 12);
    const auto lowered = lower(program, OpaquePartitioner(seed));
    ASSERT_TRUE(lowered.has_value()) << lowered.error().str() << print(program);
    EXPECT_EQ(effects_in_order(lowered->program), effects_in_order(program)) << print(program);
  }
}

// Such a partitioner sees that a pinned node has effects, though not which.
TEST(Effects, OfPinnedNodesAreSeen) {
  const Program program = parse(
      "program\nmethod forward(%x: f32[4]) {\n%a: f32[4] = aten.rand_like.default(%x)\n"
      "%b: f32[4] = aten.rand_like.default(%x)\n%c: f32[4] = aten.rand_like.default(%x)\n"
      "return %a, %b, %c\n}\n");
  KeyValues pins = {{"off", "node:b"}};
  auto controls = take_partition_controls("a", pins);
  ASSERT_TRUE(controls.has_value()) << controls.error().str();
  const auto partitioner = filtered(std::make_unique<OpaquePartitioner>(7), std::move(*controls));
  const auto lowered = lower(program, *partitioner);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().str();
  EXPECT_EQ(lowered->program.delegates.size(), 2u);
}

TEST(Effects, TheRefusalNamesThePath) {
  const Program program = parse(
      "program\nmethod forward(%x: f32[4]) {\n%a: f32[4] = aten.rand_like.default(%x)\n"
      "%b: f32[4] = some.unknown_op(%x)\n%c: f32[4] = aten.rand_like.default(%x)\nreturn %a, %b, %c\n}\n");
  const auto lowered = lower(program, FunctionPartitioner(tagging({{"a", "t"}, {"c", "t"}})));
  ASSERT_FALSE(lowered.has_value());
  EXPECT_EQ(lowered.error().code, "to_backend.dependency-cycle");
  EXPECT_THAT(lowered.error().message, HasSubstr("partition t -> %b -> partition t"));
  EXPECT_THAT(lowered.error().hint, HasSubstr("nodes with effects must keep their order"));
}

}  // namespace
}  // namespace depute
