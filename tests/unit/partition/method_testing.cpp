#include "tests/unit/partition/method_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "depute/program/walk.h"
#include "tests/unit/parse.h"

namespace depute::testing {
namespace {

const Type vector_type = tensor_type(make_tensor(ScalarType::F32, {2}));

// Fills one graph after the other with random nodes.
class Writer {
 public:
  Writer(Method& method, std::uint32_t seed) : method_(method), random_(seed) {}

  void fill(Graph& graph, int depth) {
    std::vector<Value*> values(graph.inputs().begin(), graph.inputs().end());
    const std::uint32_t count = depth == 0 ? 5 + below(40) : below(12);
    for (std::uint32_t i = 0; i < count; ++i) {
      Node* node =
          below(12) == 0 && depth < 3 ? add_control_flow(graph, values, depth) : add_plain(graph, values);
      values.insert(values.end(), node->results().begin(), node->results().end());
    }
    std::vector<Argument> outputs;
    for (std::uint32_t i = 0; i < 1 + below(3); ++i) outputs.push_back(Argument::of(some(values)));
    graph.set_outputs(outputs);
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  // Often a recent one, so that chains appear.
  Value* some(const std::vector<Value*>& values) {
    const auto size = static_cast<std::uint32_t>(values.size());
    return values[size - 1 - (below(3) == 0 ? below(size) : below(std::min(size, 4U)))];
  }

  Node* add_plain(Graph& graph, const std::vector<Value*>& values) {
    static constexpr std::pair<std::string_view, std::string_view> ops[] = {
        {"a", "aten.abs.default"},      {"b", "aten.neg.default"}, {"c", "aten.relu.default"},
        {"d", "aten.sin.default"},      {"e", "aten.cos.default"}, {"f", "aten.exp.default"},
        {"v", "aten.view_copy.default"}};
    const auto [name, op] = ops[below(7)];
    std::vector<Argument> args{Argument::of(some(values))};
    if (below(2) == 0) args.push_back(Argument::of(some(values)));
    if (below(6) == 0) args.push_back(graph.list({Argument::of(some(values)), Argument::of(some(values))}));
    std::vector<ResultSpec> results(below(8) == 0 ? 2 : 1, ResultSpec{Name(name), vector_type});
    return graph.add(Name(op), args, {}, results);
  }

  Node* add_control_flow(Graph& graph, const std::vector<Value*>& values, int depth) {
    std::vector<Argument> args{Argument::of(some(values))};
    for (std::uint32_t i = 0; i < 1 + below(2); ++i) {
      if (below(4) == 0 && !finished_.empty()) {
        args.push_back(Argument::of(finished_[below(static_cast<std::uint32_t>(finished_.size()))]));
        continue;
      }
      method_.bodies.push_back(std::make_unique<Graph>(Name("body" + std::to_string(method_.bodies.size()))));
      Graph& body = *method_.bodies.back();
      body.add_input(Name("x"), vector_type);
      body.add_input(Name("y"), vector_type);
      fill(body, depth + 1);
      finished_.push_back(&body);
      args.push_back(Argument::of(&body));
    }
    args.push_back(graph.list({Argument::of(some(values)), Argument::of(some(values))}));
    const ResultSpec result{Name("cond"), vector_type};
    return graph.add(Name("higher_order.cond"), args, {}, {&result, 1});
  }

  Method& method_;
  std::mt19937 random_;
  std::vector<Graph*> finished_;
};

// The result, looked up by node.
class Checker {
 public:
  Checker(const Method& method, const PartitionResult& result) : method_(method), result_(result) {}

  std::string broken_rule() {
    for (const auto& [node, tag] : result_.node_tags) {
      if (!tag_of_.emplace(node, tag).second) return name(*node) + " is tagged twice";
      if (!result_.partition_tags.contains(tag)) return "a tag without spec";
    }
    for (const auto& [node, verdict] : result_.verdicts) {
      if (!verdict_of_.emplace(node, &verdict).second) return name(*node) + " has two verdicts";
    }
    std::set<std::string> used;
    for (const auto& [node, tag] : result_.node_tags) used.insert(std::string(tag.str()));
    if (used.size() != result_.partition_tags.size()) return "a partition without nodes";
    if (std::string rule = broken_in_graphs(); !rule.empty()) return rule;
    return broken_constants();
  }

 private:
  static std::string name(const Node& node) { return place_of(node); }
  Name tag_of(const Node& node) const {
    auto found = tag_of_.find(&node);
    return found == tag_of_.end() ? Name() : found->second;
  }

  // Graphs that are run by nodes that stay are partitioned; others go with their nodes.
  std::string broken_in_graphs() {
    std::unordered_set<const Graph*> staying;
    const auto visit = [&](const Graph& graph) {
      staying.insert(&graph);
      return Status();
    };
    (void)walk_graphs(method_, visit, [&](const Node& node) { return tag_of(node).empty(); });
    std::size_t nodes = 0;
    for (const Graph* graph : graphs_of(method_)) {
      for (const Node& node : graph->nodes()) {
        ++nodes;
        auto verdict = verdict_of_.find(&node);
        if (verdict == verdict_of_.end()) return name(node) + " has no verdict";
        const bool goes = !tag_of(node).empty() || !staying.contains(graph);
        if (verdict->second->delegated != goes) return name(node) + ": verdict and tag disagree";
        if (goes ? verdict->second->owner.empty() : verdict->second->rule.empty())
          return name(node) + ": an empty verdict";
        if (!staying.contains(graph) && !tag_of(node).empty())
          return name(node) + " is tagged in a taken body";
      }
      if (staying.contains(graph) && !is_acyclic(*graph))
        return "a circle in " + std::string(graph->name().str());
    }
    return nodes == verdict_of_.size() ? "" : "a verdict for a node of another method";
  }

  // Kahn's algorithm with the nodes of a tag as one vertex.
  bool is_acyclic(const Graph& graph) const {
    std::map<std::pair<const Node*, const void*>, std::set<std::pair<const Node*, const void*>>> succs;
    std::map<std::pair<const Node*, const void*>, std::size_t> waiting;
    const auto vertex = [&](const Node& node) {
      const Name tag = tag_of(node);
      return tag.empty() ? std::pair<const Node*, const void*>(&node, nullptr)
                         : std::pair<const Node*, const void*>(nullptr, tag.id());
    };
    for (const Node& node : graph.nodes()) {
      waiting[vertex(node)];
      for (std::size_t i = 0; i < node.operand_count(); ++i) {
        const Node* producer = node.operand(i)->producer();
        if (producer == nullptr || vertex(*producer) == vertex(node)) continue;
        if (succs[vertex(*producer)].insert(vertex(node)).second) ++waiting[vertex(node)];
      }
    }
    std::vector<std::pair<const Node*, const void*>> ready;
    for (const auto& [v, count] : waiting) {
      if (count == 0) ready.push_back(v);
    }
    std::size_t done = 0;
    for (; done < ready.size(); ++done) {
      for (const auto& next : succs[ready[done]]) {
        if (--waiting[next] == 0) ready.push_back(next);
      }
    }
    return done == waiting.size();
  }

  std::string broken_constants() const {
    std::set<std::pair<const Value*, const void*>> moved;
    for (const auto& [value, tag] : result_.constant_tags) {
      if (value->producer() != nullptr || method_.graph->inputs()[value->index()] != value)
        return "something else than an input moves";
      if (!method_.inputs[value->index()].has_data()) return "a user's input moves";
      if (!moved.emplace(value, tag.id()).second) return "a constant moves twice";
      bool is_used = !value->has_uses();
      for (const Use& use : value->uses()) is_used |= !use.user()->is_return() && tag_of(*use.user()) == tag;
      if (!is_used && !is_mutated(method_, method_.inputs[value->index()]))
        return "a constant moves where no node uses it";
    }
    return "";
  }

  const Method& method_;
  const PartitionResult& result_;
  std::unordered_map<const Node*, Name> tag_of_;
  std::unordered_map<const Node*, const Verdict*> verdict_of_;
};

}  // namespace

Program random_program(std::uint32_t seed) {
  Program program = parse(R"(program
data "w": f32[2] = [1, 2]
data "b": f32[2] = [1, 2]
data "state": f32[2] = [0, 0]
method forward(%w: f32[2] = param "w", %b: f32[2] = constant "b", %s: f32[2] = buffer "state", %x: f32[2]) {
  return %x
}
)");
  Method& method = *program.methods[0];
  Writer(method, seed).fill(*method.graph, 0);
  method.outputs.assign(method.graph->outputs().size(), OutputSpec{});
  if (method.graph->outputs()[0].as_value()->producer() != nullptr)
    method.outputs[0] = {OutputSpec::Kind::BufferMutation, Name("state")};
  return program;
}

std::string broken_rule(const Method& method, const PartitionResult& result) {
  return Checker(method, result).broken_rule();
}

}  // namespace depute::testing
