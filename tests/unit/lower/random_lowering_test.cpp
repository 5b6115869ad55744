// Random programs with random tags: what is lowered computes what the program computed, state included; every
// node ends up in one place; and the order in which a partitioner lists its tags does not matter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "ir/copy.h"
#include "ir/equal.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "kernels/interpret.h"
#include "lower/to_backend.h"
#include "partition/propose_partitions.h"

namespace depute {
namespace {

constexpr int program_count = 2000;

// Payload: the number of nodes.
class CountingBackend : public Backend {
 public:
  explicit CountingBackend(std::string id) : id_(std::move(id)) {}
  std::string_view id() const override { return id_; }
  Result<PreprocessResult> preprocess(const Program& program, std::span<const CompileSpec>) const override {
    std::string text = fmt::format("{}", program.methods.front()->graph->node_count());
    return PreprocessResult{.processed_bytes = storage_of(text)};
  }

 private:
  std::string id_;
};

const Registry& registry() {
  static const Registry both = [] {
    Registry made;
    for (const char* id : {"A", "B"}) {
      BackendEntry entry;
      entry.name = id;
      entry.backend = std::make_unique<CountingBackend>(id);
      EXPECT_TRUE(made.add(std::move(entry)));
    }
    return made;
  }();
  return both;
}

// Text of a program over f32[2, 3]: inputs, shared constants, mutated buffers, lists, ops with several
// results, and cond with bodies.
class RandomText {
 public:
  explicit RandomText(std::uint32_t seed) : random_(seed) {}

  std::string make() {
    int constants = below(4);
    buffers_ = below(3);
    std::string data;
    std::string inputs = "%x0: f32[2, 3], %x1: f32[2, 3]";
    values_ = {"x0", "x1"};
    for (int i = 0; i < constants; ++i) {
      data += fmt::format("data \"w{0}\": f32[2, 3] = [{0}, 1, -2, 3, 0.5, {0}.25]\n", i);
      inputs += fmt::format(", %w{0}: f32[2, 3] = {1} \"w{0}\"", i, i % 2 == 0 ? "param" : "constant");
      values_.push_back(fmt::format("w{}", i));
    }
    for (int i = 0; i < buffers_; ++i) {
      data += fmt::format("data \"b{0}\": f32[2, 3] = [{0}, 0, 1, 0, 2, 0]\n", i);
      inputs += fmt::format(", %b{0}: f32[2, 3] = buffer \"b{0}\"", i);
      values_.push_back(fmt::format("b{}", i));
    }
    std::string nodes = statements("  ", 3 + below(14), 0);
    std::string stores;
    for (int i = 0; i < buffers_; ++i) stores += fmt::format("  store buffer \"b{}\" = %{}\n", i, computed());
    std::string outputs = fmt::format("%{}", values_.back());
    for (int i = below(3); i > 0; --i) outputs += fmt::format(", %{}", pick());
    return fmt::format("program\n{}method forward({}) {{\n{}{}{}  return {}\n}}\n", data, inputs, bodies_,
                       nodes, stores, outputs);
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  const std::string& pick() { return values_[random_() % values_.size()]; }
  // A value that is no input, as far as there is one.
  const std::string& computed() {
    for (int i = 0; i < 20; ++i) {
      const std::string& value = pick();
      if (value.starts_with("v")) return value;
    }
    return values_.back();
  }
  std::string result() {
    values_.push_back(fmt::format("v{}", next_++));
    return values_.back();
  }

  std::string statements(const std::string& indent, int count, int depth) {
    std::string text;
    for (int i = 0; i < count; ++i) text += indent + statement(depth) + "\n";
    return text;
  }

  std::string statement(int depth) {
    std::string a = pick();
    std::string b = pick();
    switch (below(depth < 2 ? 8 : 7)) {
      case 0:
        return fmt::format("%{}: f32[2, 3] = aten.neg.default(%{}) #{}", result(), a, next_);
      case 1:
        return fmt::format("%{}: f32[2, 3] = aten.relu.default(%{}) #{}", result(), a, next_);
      case 2:
      case 3:
        return fmt::format("%{}: f32[2, 3] = aten.add.Tensor(%{}, %{}) #{}", result(), a, b, next_);
      case 4:
        return fmt::format("%{}: f32[2, 3] = aten.maximum.default(%{}, %{}) #{}", result(), a, b, next_);
      case 5: {
        std::string joined = fmt::format("j{}", next_++);
        return fmt::format(
            "%{0}: f32[4, 3] = aten.cat.default([%{1}, %{2}]) #{3}\n  "
            "%{4}: f32[2, 3] = aten.slice.Tensor(%{0}, 0, 1, 3) #{3}",
            joined, a, b, next_, result());
      }
      case 6: {
        std::string joined = fmt::format("j{}", next_++);
        std::string first = result();
        std::string second = result();
        return fmt::format(
            "%{0}: f32[4, 3] = aten.cat.default([%{1}, %{2}]) #{3}\n  "
            "%{4}: f32[2, 3], %{5}: f32[2, 3] = aten.split_with_sizes.default(%{0}, [2, 2]) #{3}",
            joined, a, b, next_, first, second);
      }
      default:
        return cond(a, b, depth);
    }
  }

  std::string body(int depth) {
    std::string name = fmt::format("body{}", next_body_++);
    std::vector<std::string> outer = std::exchange(values_, {"p", "q"});
    std::string nodes = statements("    ", 1 + below(4), depth + 1);
    bodies_ += fmt::format("  graph @{}(%p: f32[2, 3], %q: f32[2, 3]) {{\n{}    return %{}\n  }}\n", name,
                           nodes, pick());
    values_ = std::move(outer);
    return name;
  }

  std::string cond(const std::string& a, const std::string& b, int depth) {
    std::string then = body(depth);
    std::string otherwise = below(4) == 0 ? then : body(depth);
    int seed = next_++;
    return fmt::format(
        "%s{0}: f32[] = aten.sum.default(%{1}) #{0}\n  %p{0}: bool[] = aten.gt.Scalar(%s{0}, 0) #{0}\n  "
        "%{2}: f32[2, 3] = higher_order.cond(%p{0}, @{3}, @{4}, [%{1}, %{5}]) #{0}",
        seed, a, result(), then, otherwise, b);
  }

  std::mt19937 random_;
  std::vector<std::string> values_;
  std::string bodies_;
  int buffers_ = 0;
  int next_ = 0;
  int next_body_ = 0;
};

Program parse(const std::string& text) {
  auto program = parse_program(text);
  EXPECT_TRUE(program) << program.error().str() << "\n" << text;
  return program ? std::move(*program) : Program();
}

// Tags with a meaning that any partitioner could give, or none at all.
class RandomPartitioner : public Partitioner {
 public:
  // `order` shuffles the lists of the result and nothing else.
  RandomPartitioner(std::uint32_t seed, std::uint32_t order) : seed_(seed), order_(order) {}

  Result<PartitionResult> partition(const Program&, const Method& method) const override {
    std::mt19937 random(seed_);
    PartitionResult result;
    bool is_sound = random() % 3 != 0;  // grown regions; else any node gets any tag
    for (const Graph* graph : graphs_below(*method.graph)) {
      if (is_sound) {
        tag_regions(*graph, random, result);
      } else {
        tag_anything(*graph, random, result);
      }
    }
    drop_taken_bodies(method, result);
    tag_constants(method, random, result);
    std::mt19937 order(order_);
    if (order_ != 0) {
      std::ranges::shuffle(result.node_tags, order);
      std::ranges::shuffle(result.constant_tags, order);
    }
    return result;
  }

 private:
  void tag(const Node& node, const std::string& name, std::mt19937&, PartitionResult& result) const {
    result.partition_tags[Symbol(name)] = {name.back() % 2 == 0 ? "A" : "B", {}};
    result.node_tags.emplace_back(&node, Symbol(name));
  }

  // Regions of random support with random groups, in a graph of its own kind.
  void tag_regions(const Graph& graph, std::mt19937& random, PartitionResult& result) const {
    RegionGraph regions;
    std::vector<const Node*> nodes;
    graph.number_nodes();
    for (const Node& node : graph.nodes()) {
      nodes.push_back(&node);
      std::set<std::uint32_t> producers;
      for (std::size_t i = 0; i < node.operand_count(); ++i) {
        if (const Node* producer = node.operand(i)->producer()) producers.insert(producer->scratch);
      }
      std::vector<std::uint32_t> list(producers.begin(), producers.end());
      regions.add_node(random() % 4 == 0 ? Support::Unsupported : Support::Supported, list);
    }
    for (int i = 0; i < 2 && nodes.size() > 3; ++i) {
      auto first = static_cast<std::uint32_t>(random() % (nodes.size() - 2));
      regions.add_group({first, first + 1 + static_cast<std::uint32_t>(random() % 2)});
    }
    RegionPlan plan = grow_regions(regions);
    std::size_t base = result.partition_tags.size();
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (plan.region_of[i] != no_region)
        tag(*nodes[i], fmt::format("r{}", base + plan.region_of[i]), random, result);
    }
  }

  void tag_anything(const Graph& graph, std::mt19937& random, PartitionResult& result) const {
    for (const Node& node : graph.nodes()) {
      if (random() % 3 == 0) tag(node, fmt::format("t{}", random() % 4), random, result);
    }
  }

  // Nodes in bodies of tagged nodes go with them.
  static void drop_taken_bodies(const Method& method, PartitionResult& result) {
    std::map<const Node*, Symbol> tags(result.node_tags.begin(), result.node_tags.end());
    auto kept = graphs_below(*method.graph, [&](const Node& node) { return !tags.contains(&node); });
    std::set<const Graph*> stays(kept.begin(), kept.end());
    std::erase_if(result.node_tags,
                  [&](const auto& entry) { return !stays.contains(&entry.first->graph()); });
  }

  static void tag_constants(const Method& method, std::mt19937& random, PartitionResult& result) {
    std::map<const Node*, Symbol> tags(result.node_tags.begin(), result.node_tags.end());
    for (const Value* input : method.graph->inputs()) {
      const InputSpec& spec = method.inputs[input->index()];
      if (!spec.has_data() || random() % 4 == 0) continue;
      std::set<std::string> users;
      for (const Use& use : input->uses()) {
        auto tag = tags.find(use.user);
        if (tag != tags.end()) users.emplace(tag->second.str());
      }
      for (const std::string& user : users) result.constant_tags.emplace_back(input, Symbol(user));
    }
  }

  std::uint32_t seed_;
  std::uint32_t order_;
};

// Names of the nodes of the method's own graph, delegates opened.
void collect_nodes(const Program& program, const Graph& graph, std::multiset<std::string>& names) {
  for (const Node& node : graph.nodes()) {
    if (node.op() == "delegate.call") {
      const Delegate& delegate = *program.find_delegate(node.arg(0).as_symbol());
      collect_nodes(*delegate.original, *delegate.original->methods.front()->graph, names);
    } else {
      names.emplace(node.display_name());
    }
  }
}

// What the outputs need.
std::set<std::string> live_nodes(const Graph& graph) {
  std::set<std::string> names;
  std::vector<const Node*> stack = {graph.return_node()};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (std::size_t i = 0; i < node->operand_count(); ++i) {
      const Node* producer = node->operand(i)->producer();
      if (producer != nullptr && names.emplace(producer->display_name()).second) stack.push_back(producer);
    }
  }
  return names;
}

// Each node lies in one place, and none is lost but those that nobody needs.
void expect_exact_cover(const Program& before, const Program& after) {
  std::multiset<std::string> names;
  collect_nodes(after, *after.methods.front()->graph, names);
  for (const Node& node : before.methods.front()->graph->nodes())
    EXPECT_LE(names.count(std::string(node.display_name())), 1u) << node.display_name();
  for (const std::string& name : live_nodes(*before.methods.front()->graph))
    EXPECT_EQ(names.count(name), 1u) << name;
}

std::vector<Content> inputs_for(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Content> inputs;
  for (int i = 0; i < 2; ++i) {
    std::vector<float> numbers;
    for (int k = 0; k < 6; ++k) numbers.push_back(static_cast<float>(random() % 64) / 8.0f - 4.0f);
    inputs.emplace_back(make_data<float>(ScalarType::F32, {2, 3}, numbers));
  }
  return inputs;
}

void expect_same_results(const Program& before, const Program& after) {
  ProgramState state_before;
  ProgramState state_after;
  for (std::uint32_t call = 0; call < 3; ++call) {
    auto want = interpret(before, *before.methods.front(), inputs_for(call), state_before);
    auto got = interpret(after, *after.methods.front(), inputs_for(call), state_after);
    ASSERT_TRUE(want) << want.error().str();
    ASSERT_TRUE(got) << got.error().str();
    ASSERT_EQ(want->size(), got->size());
    for (std::size_t i = 0; i < want->size(); ++i) {
      EXPECT_EQ(content_hash(std::get<TensorData>((*want)[i])), content_hash(std::get<TensorData>((*got)[i])))
          << "call " << call << ", output " << i;
    }
  }
}

// True for a refusal that the tags deserve.
bool is_deserved(const Diagnostic& refusal) {
  return refusal.code == "to_backend.dependency-cycle" || refusal.code == "to_backend.split-state";
}

TEST(RandomLowering, ComputesTheSameInWhateverPartsItIsCut) {
  int lowered_count = 0;
  int state_moved = 0;
  int delegates = 0;
  for (std::uint32_t seed = 0; seed < program_count; ++seed) {
    std::string text = RandomText(seed).make();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    Program program = parse(text);
    ASSERT_TRUE(verify(program).empty()) << verify(program).front().str();
    Program before = clone(program);
    auto lowered = to_backend(program, RandomPartitioner(seed, 0), registry());
    EXPECT_TRUE(equal(program, before));
    auto shuffled = to_backend(program, RandomPartitioner(seed, seed + 1), registry(), {.jobs = 3});
    ASSERT_EQ(lowered.has_value(), shuffled.has_value());
    if (!lowered) {
      ASSERT_TRUE(is_deserved(lowered.error())) << lowered.error().str();
      continue;
    }
    ++lowered_count;
    delegates += static_cast<int>(lowered->program.delegates.size());
    ASSERT_EQ(first_difference(lowered->program, shuffled->program), std::nullopt);
    ASSERT_TRUE(verify(lowered->program).empty()) << verify(lowered->program).front().str() << "\n"
                                                  << print(lowered->program);
    for (const auto& delegate : lowered->program.delegates) {
      ASSERT_TRUE(verify(*delegate->original).empty()) << verify(*delegate->original).front().str();
      if (is_mutated(*delegate->original->methods.front(),
                     delegate->original->methods.front()->inputs.empty()
                         ? InputSpec()
                         : delegate->original->methods.front()->inputs[0]))
        ++state_moved;
    }
    expect_exact_cover(program, lowered->program);
    expect_same_results(program, lowered->program);
    if (HasFailure()) break;
  }
  // The numbers say that the test tests something.
  EXPECT_GT(lowered_count, program_count / 2);
  EXPECT_GT(delegates, program_count);
  EXPECT_GT(state_moved, 20);
}

}  // namespace
}  // namespace depute
