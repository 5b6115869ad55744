// Random programs with random tags, lowered up to three times, so that delegates end up in delegates: what is
// lowered computes what the program computed, and keeps the same state between calls, no more and no less;
// every node ends up in one place; and the order in which a partitioner lists its tags does not matter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "depute/backend/partitioner.h"
#include "depute/backend/partitioners.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/interpret.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "depute/program/walk.h"
#include "ir/node_order.h"
#include "ir/verify.h"
#include "lowering_testing.h"
#include "ops/effects.h"
#include "partition/tag_data.h"
#include "regions/grow_regions.h"

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

// Text of a program over f32[2, 3]: one or two methods with shared constants and buffers (read or not, under
// one name or two), lists, ops with several results, all kinds of control flow, and calls of delegates that
// an earlier lowering might have made, of which some keep state.
class RandomText {
 public:
  explicit RandomText(std::uint32_t seed) : random_(seed) {}

  std::string make() {
    constants_ = below(4);
    for (int i = below(4); i > 0; --i) roles_.emplace_back(below(4) == 0 ? "param" : "buffer");
    if (below(3) == 0) add_delegates();
    std::string text = "program\n";
    for (int i = 0; i < constants_; ++i)
      text += fmt::format("data \"w{0}\": f32[2, 3] = [{0}, 1, -2, 3, 0.5, {0}.25]\n", i);
    for (std::size_t i = 0; i < roles_.size(); ++i)
      text += fmt::format("data \"b{0}\": f32[2, 3] = [{0}, 0, 1, 0, 2, 0]\n", i);
    text += delegates_text_ + method("forward");
    if (below(3) == 0) text += method("second");
    return text;
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

  // Counters: one that returns what it has, one that returns nothing, and one that nests the first. The last
  // one keeps nothing.
  void add_delegates() {
    std::string counter = R"(    data "DATA": f32[2, 3] = [1, 0, 0, 2, 0, 0]
    method forward(%c: f32[2, 3] = buffer "DATA", %p: f32[2, 3]) {
      %n: f32[2, 3] = aten.add.Tensor(%c, %p)
      store buffer "DATA" = %n
      return RESULT
    }
)";
    auto make = [&](std::string_view data, std::string_view result) {
      std::string text = counter;
      for (std::size_t at; (at = text.find("DATA")) != std::string::npos;) text.replace(at, 4, data);
      return text.replace(text.find(" RESULT"), 7, result);
    };
    auto add = [&](std::string_view name, std::string_view original) {
      delegates_text_ += fmt::format(
          "delegate {} backend \"A\" {{\n  blob \"x\"\n  original {{\n{}  }}\n}}\n", name, original);
    };
    if (below(2) == 0) {
      called_.emplace_back("counter");
      add("counter", make("c0", " %n"));
    }
    if (below(2) == 0) {
      called_.emplace_back("silent");
      add("silent", make("c1", ""));
    }
    if (below(3) == 0) {
      called_.emplace_back("nesting");
      add("nesting",
          fmt::format("    delegate inner backend \"B\" {{\n  blob \"y\"\n  original {{\n{}  }}\n  }}\n"
                      "    method forward(%p: f32[2, 3]) {{\n      %r: f32[2, 3] = "
                      "delegate.call(@inner, %p)\n      return %r\n    }}\n",
                      make("c2", " %c")));
    }
    if (below(3) == 0) {
      called_.emplace_back("pure");
      add("pure",
          "    method forward(%p: f32[2, 3]) {\n      %r: f32[2, 3] = aten.neg.default(%p)\n      return %r\n"
          "    }\n");
    }
  }

  std::string method(std::string_view name) {
    std::string inputs = "%x0: f32[2, 3], %x1: f32[2, 3]";
    values_ = {"x0", "x1"};
    bodies_.clear();
    for (int i = 0; i < constants_; ++i) {
      inputs += fmt::format(", %w{0}: f32[2, 3] = {1} \"w{0}\"", i, i % 2 == 0 ? "param" : "constant");
      values_.push_back(fmt::format("w{}", i));
    }
    std::vector<std::size_t> buffers;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (name != "forward" && below(2) == 0) continue;
      buffers.push_back(i);
      for (std::string_view letter : {"b", "again"}) {
        if (letter == "again" && below(4) != 0) continue;
        inputs += fmt::format(", %{0}{1}: f32[2, 3] = {2} \"b{1}\"", letter, i, roles_[i]);
        if (below(4) != 0) values_.push_back(fmt::format("{}{}", letter, i));
      }
    }
    std::string nodes = statements("  ", 3 + below(12), 0);
    std::string stores;
    for (std::size_t i : buffers) {
      if (name != "forward" && below(2) == 0) continue;
      for (int count = below(8) == 0 ? 2 : 1; count > 0; --count)
        stores +=
            fmt::format("  store {} \"b{}\" = %{}\n", roles_[i], i, below(8) == 0 ? pick() : computed());
    }
    std::string outputs = fmt::format("%{}", values_.back());
    for (int i = below(3); i > 0; --i) outputs += fmt::format(", %{}", pick());
    return fmt::format("method {}({}) {{\n{}{}{}  return {}\n}}\n", name, inputs, bodies_, nodes, stores,
                       outputs);
  }

  std::string statements(const std::string& indent, int count, int depth) {
    std::string text;
    for (int i = 0; i < count; ++i) text += indent + statement(depth) + "\n";
    return text;
  }

  std::string statement(int depth) {
    std::string a = pick();
    std::string b = pick();
    if (!called_.empty() && below(3) == 0) return call(a);
    switch (below(depth < 2 ? 9 : 7)) {
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
      case 7:
        return cond(a, b, depth);
      default:
        return loop(a, b, depth);
    }
  }

  std::string call(const std::string& a) {
    const std::string& called = called_[random_() % called_.size()];
    if (called == "silent") return fmt::format("delegate.call(@silent, %{}) #{}", a, next_++);
    return fmt::format("%{}: f32[2, 3] = delegate.call(@{}, %{}) #{}", result(), called, a, next_);
  }

  // A body that computes with %p and %q; `first` and `last` are what it takes and gives beside them.
  std::string body(int depth, std::string_view inputs, std::string_view before, std::string_view outputs) {
    std::string name = fmt::format("body{}", next_body_++);
    std::vector<std::string> outer = std::exchange(values_, {"p", "q"});
    std::string nodes = statements("    ", 1 + below(4), depth + 1);
    std::string given(outputs);
    if (std::size_t at = given.find("VALUE"); at != std::string::npos) given.replace(at, 5, pick());
    bodies_ += fmt::format("  graph @{}({}) {{\n{}{}{}  }}\n", name, inputs, before, nodes, given);
    values_ = std::move(outer);
    return name;
  }
  std::string branch(int depth) {
    return body(depth, "%p: f32[2, 3], %q: f32[2, 3]", "", "    return %VALUE\n");
  }

  std::string cond(const std::string& a, const std::string& b, int depth) {
    std::string then = branch(depth);
    std::string otherwise = below(4) == 0 ? then : branch(depth);
    int seed = next_++;
    return fmt::format(
        "%s{0}: f32[] = aten.sum.default(%{1}) #{0}\n  %p{0}: bool[] = aten.gt.Scalar(%s{0}, 0) #{0}\n  "
        "%{2}: f32[2, 3] = higher_order.cond(%p{0}, @{3}, @{4}, [%{1}, %{5}]) #{0}",
        seed, a, result(), then, otherwise, b);
  }

  std::string loop(const std::string& a, const std::string& b, int depth) {
    int seed = next_++;
    switch (below(3)) {
      case 0: {
        std::string test = fmt::format("test{}", next_body_++);
        bodies_ += fmt::format(
            "  graph @{0}(%i: i64[], %p: f32[2, 3], %q: f32[2, 3]) {{\n    %t{1}: bool[] = "
            "aten.lt.Scalar(%i, 2)\n"
            "    return %t{1}\n  }}\n",
            test, seed);
        std::string turn = body(depth, "%i: i64[], %p: f32[2, 3], %q: f32[2, 3]",
                                fmt::format("    %i{}: i64[] = aten.add.Tensor(%i, 1)\n", seed),
                                fmt::format("    return %i{}, %VALUE\n", seed));
        return fmt::format(
            "%z{0}: i64[] = aten.full.default([], 0, dtype=.i64) #{0}\n  %l{0}: i64[], %{1}: f32[2, 3] = "
            "higher_order.while_loop(@{2}, @{3}, [%z{0}, %{4}], [%{5}]) #{0}",
            seed, result(), test, turn, a, b);
      }
      case 1: {
        std::string each = body(depth, "%row: f32[3], %q: f32[2, 3]",
                                fmt::format("    %p: f32[2, 3] = aten.add.Tensor(%q, %row)\n"),
                                fmt::format("    %r{0}: f32[3] = aten.select.int(%VALUE, 0, 1)\n"
                                            "    return %r{0}\n",
                                            seed));
        return fmt::format("%{}: f32[2, 3] = higher_order.map_impl(@{}, [%{}], [%{}]) #{}", result(), each, a,
                           b, seed);
      }
      default: {
        std::string step = body(depth, "%p: f32[2, 3], %row: f32[3], %q: f32[2, 3]", "",
                                fmt::format("    %m{0}: f32[2, 3] = aten.maximum.default(%VALUE, %row)\n"
                                            "    %r{0}: f32[3] = aten.select.int(%m{0}, 0, 0)\n"
                                            "    return %m{0}, %r{0}\n",
                                            seed));
        std::string carried = result();
        return fmt::format("%{}: f32[2, 3], %{}: f32[2, 3] = higher_order.scan(@{}, [%{}], [%{}], [%{}]) #{}",
                           carried, result(), step, a, b, a, seed);
      }
    }
  }

  std::mt19937 random_;
  int constants_ = 0;
  std::vector<std::string> roles_;   // of the buffers
  std::vector<std::string> called_;  // delegates
  std::string delegates_text_;
  std::vector<std::string> values_;
  std::string bodies_;
  int next_ = 0;
  int next_body_ = 0;
};

// Tags with a meaning that any partitioner could give, or none at all.
class RandomPartitioner : public Partitioner {
 public:
  // `order` shuffles the lists of the result and nothing else.
  RandomPartitioner(std::uint32_t seed, std::uint32_t order) : seed_(seed), order_(order) {}

  Result<PartitionResult> partition(const Program& program, const Method& method) const override {
    std::mt19937 random(seed_ + static_cast<std::uint32_t>(method.name.str().size()) * 1'000'003);
    PartitionResult result;
    bool is_sound = random() % 3 != 0;  // grown regions; else any node gets any tag
    const Effects effects(program);
    const StatefulDelegates& stateful = effects.stateful();
    for (const Graph* graph : graphs_of(method)) {
      if (is_sound) {
        tag_regions(*graph, EffectOrder(effects, *graph), random, result);
      } else {
        tag_anything(*graph, random, result);
      }
    }
    drop_taken_bodies(method, result);
    if (random() % 8 != 0) leave_split_calls(program, method, stateful, result);
    tag_constants(program, method, random, result);
    std::mt19937 order(order_);
    if (order_ != 0) {
      std::ranges::shuffle(result.node_tags, order);
      std::ranges::shuffle(result.constant_tags, order);
    }
    return result;
  }

 private:
  void tag(const Node& node, const std::string& name, std::mt19937&, PartitionResult& result) const {
    result.partition_tags[Name(name)] = {name.back() % 2 == 0 ? "A" : "B", {}};
    result.node_tags.emplace_back(&node, Name(name));
  }

  // Regions of random support with random groups, in a graph of its own kind.
  void tag_regions(const Graph& graph, const EffectOrder& effects, std::mt19937& random,
                   PartitionResult& result) const {
    RegionGraph regions;
    std::vector<const Node*> nodes;
    const NodeOrder order(graph);
    for (const Node& node : graph.nodes()) {
      nodes.push_back(&node);
      std::set<std::uint32_t> producers;
      for (std::size_t i = 0; i < node.operand_count(); ++i) {
        if (const Node* producer = node.operand(i)->producer()) producers.insert(order[*producer]);
      }
      for (const Node* earlier : effects.before(node)) producers.insert(order[*earlier]);
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

  // Untags all that calls a delegate with state, unless one tag has all its calls.
  static void leave_split_calls(const Program& program, const Method& method,
                                const StatefulDelegates& stateful, PartitionResult& result) {
    std::map<const Node*, Name> tags(result.node_tags.begin(), result.node_tags.end());
    std::map<Name, std::set<std::pair<const Graph*, std::string>>, SymbolTextLess> places;
    for (const auto& each : program.methods) {
      auto stays = [&](const Node& node) { return !tags.contains(&node); };
      for (const Graph* graph : graphs_of(*each, stays)) {
        for (const Node& node : graph->nodes()) {
          auto tag = each.get() == &method ? tags.find(&node) : tags.end();
          for (Name called : stateful.called_by(node)) {
            if (tag != tags.end()) {
              places[called].emplace(graph, tag->second.str());
            } else if (!called_delegate(node).empty()) {  // bodies that stay are looked at themselves
              places[called].emplace(nullptr, "");
            }
          }
        }
      }
    }
    std::erase_if(result.node_tags, [&](const auto& entry) {
      for (Name called : stateful.called_by(*entry.first)) {
        if (places[called].size() > 1) return true;
      }
      return false;
    });
  }

  // Nodes in bodies of tagged nodes go with them.
  static void drop_taken_bodies(const Method& method, PartitionResult& result) {
    std::map<const Node*, Name> tags(result.node_tags.begin(), result.node_tags.end());
    auto kept = graphs_of(method, [&](const Node& node) { return !tags.contains(&node); });
    std::set<const Graph*> stays(kept.begin(), kept.end());
    std::erase_if(result.node_tags,
                  [&](const auto& entry) { return !stays.contains(&entry.first->graph()); });
  }

  // Constants go with any of their users; buffers rightly, or with any of their users or writers.
  static void tag_constants(const Program& program, const Method& method, std::mt19937& random,
                            PartitionResult& result) {
    std::map<const Node*, Name> tags(result.node_tags.begin(), result.node_tags.end());
    const bool is_careful = random() % 4 != 0;
    for (const Value* input : method.graph->inputs()) {
      const InputSpec& spec = method.inputs[input->index()];
      if (!spec.has_data() || random() % 4 == 0) continue;
      if (is_careful && is_written(program, spec.target)) continue;
      std::set<std::string> users;
      auto add = [&](const Node* node) {
        auto tag = tags.find(node);
        if (tag != tags.end()) users.emplace(tag->second.str());
      };
      for (const Use& use : input->uses()) add(use.user());
      for (std::size_t i = 0; i < method.outputs.size(); ++i) {
        if (method.outputs[i].mutates_data() && method.outputs[i].target == spec.target)
          add(method.graph->outputs()[i].as_value()->producer());
      }
      for (const std::string& user : users) result.constant_tags.emplace_back(input, Name(user));
    }
    if (is_careful) tag_mutated_buffer(program, method, result);
  }

  static bool is_written(const Program& program, Name key) {
    return std::ranges::any_of(program.methods, [&](const auto& method) {
      return std::ranges::any_of(method->outputs, [&](const OutputSpec& output) {
        return output.mutates_data() && output.target == key;
      });
    });
  }

  std::uint32_t seed_;
  std::uint32_t order_;
};

// --- every node in one place

std::string name_of(const Node& node) {
  return node.results().empty() ? fmt::format("{} #{}", node.display_name(), node.debug_handle)
                                : std::string(node.display_name());
}

// Names of the nodes of a graph, delegates opened that `before` does not have.
void collect_nodes(const Program& before, const Program& program, const Graph& graph,
                   std::multiset<std::string>& names) {
  for (const Node& node : graph.nodes()) {
    Name called = called_delegate(node);
    if (called.empty() || before.find_delegate(called) != nullptr) {
      names.emplace(name_of(node));
    } else {
      const Program& original = *program.find_delegate(called)->original;
      collect_nodes(before, original, *original.methods.front()->graph, names);
    }
  }
}

// What the outputs need, and what changes state.
std::set<std::string> live_nodes(const Program& program, const Graph& graph) {
  std::set<std::string> names;
  std::vector<const Node*> stack = {graph.return_node()};
  const StatefulDelegates stateful(program);
  for (const Node& node : graph.nodes()) {
    if (!stateful.called_by(node).empty() && names.emplace(name_of(node)).second) stack.push_back(&node);
  }
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (std::size_t i = 0; i < node->operand_count(); ++i) {
      const Node* producer = node->operand(i)->producer();
      if (producer != nullptr && names.emplace(name_of(*producer)).second) stack.push_back(producer);
    }
  }
  return names;
}

// Each node lies in one place, and none is lost but those that nobody needs.
void expect_exact_cover(const Program& before, const Program& after) {
  for (std::size_t i = 0; i < before.methods.size(); ++i) {
    const Graph& graph = *before.methods[i]->graph;
    std::multiset<std::string> names;
    collect_nodes(before, after, *after.methods[i]->graph, names);
    for (const Node& node : graph.nodes()) EXPECT_LE(names.count(name_of(node)), 1u) << name_of(node);
    for (const std::string& name : live_nodes(before, graph)) EXPECT_EQ(names.count(name), 1u) << name;
  }
}

// --- the same results, and the same state

std::vector<RuntimeValue> inputs_for(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<RuntimeValue> inputs;
  for (int i = 0; i < 2; ++i) {
    std::vector<float> numbers;
    for (int k = 0; k < 6; ++k) numbers.push_back(static_cast<float>(random() % 64) / 8.0f - 4.0f);
    inputs.emplace_back(make_data<float>(ScalarType::F32, {2, 3}, numbers));
  }
  return inputs;
}

// All that a loaded program keeps, wherever it lies: what lies twice, or nowhere, shows.
using KeptState = std::multimap<std::string, Hash128>;
void collect_state(const ProgramState& state, KeptState& kept) {
  for (const auto& [key, data] : state.data) kept.emplace(key.str(), content_hash(data));
  for (const auto& [name, delegate] : state.delegates) collect_state(*delegate, kept);
}
KeptState kept_by(const ProgramState& state) {
  KeptState kept;
  collect_state(state, kept);
  return kept;
}

void expect_same_results(const Program& before, const Program& after) {
  ProgramState state_before;
  ProgramState state_after;
  for (std::uint32_t call = 0; call < 4; ++call) {
    SCOPED_TRACE(fmt::format("call {}", call));
    std::size_t method = call % before.methods.size();
    auto want = interpret(before, *before.methods[method], inputs_for(call), state_before);
    auto got = interpret(after, *after.methods[method], inputs_for(call), state_after);
    ASSERT_TRUE(want) << want.error().str();
    ASSERT_TRUE(got) << got.error().str();
    ASSERT_EQ(want->size(), got->size());
    for (std::size_t i = 0; i < want->size(); ++i) {
      EXPECT_EQ(content_hash(std::get<TensorData>((*want)[i])), content_hash(std::get<TensorData>((*got)[i])))
          << "output " << i;
    }
    EXPECT_TRUE(kept_by(state_before) == kept_by(state_after)) << "the state is another one";
  }
}

// --- what the lowerings were like

struct Seen {
  int lowered = 0;
  int refused = 0;
  int delegates = 0;
  int nested = 0;       // delegates inside delegates
  int moved_state = 0;  // buffers
  int moved_without_readers = 0;
  int moved_twins = 0;   // buffers that come in twice
  int nested_state = 0;  // calls of delegates with state
};

// The mutated buffers that come in twice.
std::set<std::string> twins(const Program& program) {
  std::set<std::string> names;
  for (const auto& method : program.methods) {
    std::set<std::string> keys;
    for (const InputSpec& spec : method->inputs) {
      if (spec.has_data() && is_mutated(*method, spec) && !keys.emplace(spec.target.str()).second)
        names.emplace(spec.target.str());
    }
  }
  return names;
}

void count(const Program& before, const Program& program, Seen& seen) {
  const std::set<std::string> twins_before = twins(before);
  for (const auto& delegate : program.delegates) {
    const Program& original = *delegate->original;
    const Method& method = *original.methods.front();
    ++seen.delegates;
    seen.nested += static_cast<int>(original.delegates.size());
    std::set<std::string> keys;
    for (const Value* input : method.graph->inputs()) {
      const InputSpec& spec = method.inputs[input->index()];
      if (!spec.has_data() || !is_mutated(method, spec)) continue;
      ++seen.moved_state;
      if (!input->has_uses()) ++seen.moved_without_readers;
      EXPECT_TRUE(keys.emplace(spec.target.str()).second) << "a delegate has two states of one buffer";
      seen.moved_twins += twins_before.contains(std::string(spec.target.str()));
    }
    const StatefulDelegates stateful(original);
    for (const Node& node : method.graph->nodes()) seen.nested_state += !stateful.called_by(node).empty();
  }
}

// True for a refusal that the tags deserve.
bool is_deserved(const Diagnostic& refusal) {
  return refusal.code == "to_backend.dependency-cycle" || refusal.code == "to_backend.split-state";
}

void expect_same_program(const Program& program, const Program& lowered) {
  expect_sound(lowered);
  if (::testing::Test::HasFailure()) return;
  expect_exact_cover(program, lowered);
  expect_same_results(program, lowered);
}

// One more lowering of `current`, which came of `program`, or nothing where the tags deserve a refusal.
void lower_once(const Program& program, std::uint32_t tags, Seen& seen, std::optional<Program>& current) {
  Program before = clone(*current);
  auto lowered = to_backend(*current, RandomPartitioner(tags, 0), registry());
  EXPECT_TRUE(equal(*current, before));
  auto shuffled = to_backend(*current, RandomPartitioner(tags, tags + 1), registry(), {.jobs = 3});
  ASSERT_EQ(lowered.has_value(), shuffled.has_value());
  current.reset();
  if (!lowered) {
    ASSERT_TRUE(is_deserved(lowered.error())) << lowered.error().str();
    ++seen.refused;
    return;
  }
  ++seen.lowered;
  ASSERT_EQ(first_difference(lowered->program, shuffled->program), std::nullopt);
  expect_same_program(program, lowered->program);
  if (::testing::Test::HasFailure()) {
    ADD_FAILURE() << "lowered from\n" << print(before) << "to\n" << print(lowered->program);
    return;
  }
  count(before, lowered->program, seen);
  current = std::move(lowered->program);
}

TEST(RandomLowering, ComputesTheSameInWhateverPartsItIsCut) {
  Seen seen;
  for (std::uint32_t seed = 0; seed < program_count; ++seed) {
    std::string text = RandomText(seed).make();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    Program program = parse(text);
    ASSERT_TRUE(verify(program).empty()) << verify(program).front().str();
    std::optional<Program> current = clone(program);
    for (std::uint32_t round = 0; round < 3 && current; ++round) {
      SCOPED_TRACE(fmt::format("round {}", round));
      lower_once(program, seed + round * program_count, seen, current);
    }
    if (HasFailure()) break;
  }
  // The numbers say that the test tests something.
  EXPECT_GT(seen.lowered, program_count);
  EXPECT_GT(seen.delegates, program_count);
  EXPECT_GT(seen.nested, program_count / 2);
  EXPECT_GT(seen.moved_state, program_count / 10);
  EXPECT_GT(seen.moved_without_readers, program_count / 50);
  EXPECT_GT(seen.moved_twins, program_count / 100);
  EXPECT_GT(seen.nested_state, program_count / 10);
}

// Everything as one delegate, which then stands alone.
TEST(RandomLowering, ComputesTheSameAsAWhole) {
  int lowered_count = 0;
  const WholeProgramPartitioner everything("whole", {"A", {}});
  for (std::uint32_t seed = 0; seed < program_count / 4; ++seed) {
    std::string text = RandomText(seed).make();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    Program program = parse(text);
    auto lowered = to_backend(program, everything, registry());
    if (lowered) {
      ++lowered_count;
      expect_same_program(program, lowered->program);
    } else {
      ASSERT_TRUE(is_deserved(lowered.error())) << lowered.error().str();
    }
    if (program.methods.size() == 1) {
      auto delegate = to_backend("A", program, {}, registry());
      ASSERT_TRUE(delegate) << delegate.error().str();
      Program alone = as_program(*delegate).value();
      expect_sound(alone);
      expect_same_results(program, alone);
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(lowered_count, program_count / 6);
}

}  // namespace
}  // namespace depute
