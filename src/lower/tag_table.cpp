#include "lower/tag_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>

#include "ir/copy.h"
#include "lower/lowering_error.h"

namespace depute {
namespace {

constexpr std::uint32_t none = GraphTags::none;

std::string_view kind_name(InputSpec::Kind kind) {
  switch (kind) {
    case InputSpec::Kind::Parameter:
      return "parameter";
    case InputSpec::Kind::Buffer:
      return "buffer";
    case InputSpec::Kind::Constant:
      return "constant";
    case InputSpec::Kind::UserInput:
    case InputSpec::Kind::CustomObj:
    case InputSpec::Kind::Token:
      break;
  }
  return "input";
}

class TagReader {
 public:
  TagReader(const Program& program, const Method& method, const PartitionResult& partitions)
      : program_(program), method_(method), partitions_(partitions) {}

  Result<TagTable> run() {
    number_graphs();
    TRY_STATUS(check_references());
    TRY_STATUS(read_node_tags());
    find_kept_graphs();
    TRY_STATUS(check_taken_bodies());
    for (GraphTags& tags : table_.graphs) number_tags(tags);
    find_mutations();
    TRY_STATUS(read_constant_tags());
    TRY_STATUS(check_single_copies());
    return std::move(table_);
  }

 private:
  LoweringPlace place() const { return {.method = method_.name.str()}; }
  LoweringPlace place(const Node& node, Symbol tag = {}) const {
    return {.method = method_.name.str(), .node = &node, .tag = tag.str()};
  }
  std::string input_text(const Value& input) const {
    const InputSpec& spec = method_.inputs[input.index()];
    std::string_view name = spec.has_data() ? spec.target.str() : input.name().str();
    return fmt::format("{} '{}'", kind_name(spec.kind), name);
  }

  void number_graphs() {
    for (const Graph* graph : graphs_below(*method_.graph))
      all_tags_[graph].resize(graph->number_nodes() + 1);
  }

  // What the result speaks of is there, and of this method: all else relies on it.
  Status check_references() const {
    if (partitions_.partition_tags.contains(Symbol())) {
      return lowering_error(LoweringFault::EmptyTag, place(), "the empty tag has a delegation spec",
                            "give the tag a name: nodes without a tag have the empty one");
    }
    for (const auto& [node, tag] : partitions_.node_tags) TRY_STATUS(check_node(node, tag, "is tagged"));
    for (const auto& [node, verdict] : partitions_.verdicts)
      TRY_STATUS(check_node(node, {}, "has a verdict"));
    for (const auto& [value, tag] : partitions_.constant_tags)
      TRY_STATUS(check_input(value, tag, "be tagged as constants"));
    for (const Value* value : partitions_.no_copy) TRY_STATUS(check_input(value, {}, "be in no_copy"));
    return {};
  }

  Status check_node(const Node* node, Symbol tag, std::string_view what) const {
    if (node != nullptr && all_tags_.contains(&node->graph())) return {};
    return lowering_error(
        LoweringFault::ForeignNode, {.method = method_.name.str(), .node = node, .tag = tag.str()},
        fmt::format("a {} {}", node == nullptr ? "null node" : "node of another graph", what),
        "use the nodes of the method that partition() was called with");
  }

  Status check_input(const Value* value, Symbol tag, std::string_view what) const {
    auto inputs = method_.graph->inputs();
    bool is_input = value != nullptr && value->producer() == nullptr && value->index() < inputs.size() &&
                    inputs[value->index()] == value;
    if (is_input) return {};
    LoweringPlace where{.method = method_.name.str(),
                        .node = value == nullptr ? nullptr : value->producer(),
                        .tag = tag.str()};
    return lowering_error(LoweringFault::ForeignNode, where,
                          value == nullptr
                              ? "a null value is given"
                              : fmt::format("%{} is no input of the method", value->name().str()),
                          fmt::format("only the method's parameters, buffers and constants can {}", what));
  }

  Status read_node_tags() {
    for (const auto& [node, tag] : partitions_.node_tags) {
      auto graph = all_tags_.find(&node->graph());
      if (node->is_return())
        return lowering_error(LoweringFault::OutputTagged, place(*node, tag),
                              "the outputs should not be tagged");
      if (!partitions_.partition_tags.contains(tag)) {
        return lowering_error(LoweringFault::UnknownTag, place(*node, tag),
                              fmt::format("tag '{}' has no delegation spec", tag.str()),
                              "add the tag to partition_tags");
      }
      Symbol& known = graph->second[node->scratch];
      if (!known.empty())
        return lowering_error(LoweringFault::TaggedTwice, place(*node, tag), "this node is tagged twice");
      known = tag;
    }
    return {};
  }

  Symbol tag_of(const Node& node) const { return all_tags_.at(&node.graph())[node.scratch]; }

  void find_kept_graphs() {
    auto stays = [&](const Node& node) { return tag_of(node).empty(); };
    for (const Graph* graph : graphs_below(*method_.graph, stays)) {
      kept_.insert(graph);
      table_.graphs.push_back({.graph = graph});
    }
  }

  // A node that is taken whole takes its bodies along: what they contain has the node's tag or none.
  Status check_taken_bodies() const {
    for (const GraphTags& kept : table_.graphs) {
      for (const Node& node : kept.graph->nodes()) {
        if (tag_of(node).empty()) continue;
        for (const Graph* body : bodies_of(node)) TRY_STATUS(check_taken_body(*body, node));
      }
    }
    return {};
  }
  Status check_taken_body(const Graph& body, const Node& taken) const {
    for (const Graph* graph : graphs_below(body)) {
      if (kept_.contains(graph)) continue;  // another node, which stays, uses it too
      for (const Node& node : graph->nodes()) {
        Symbol tag = tag_of(node);
        if (tag.empty() || tag == tag_of(taken)) continue;
        return lowering_error(LoweringFault::TagInsideTakenBody, place(node, tag),
                              fmt::format("it lies in a body of {}, which tag '{}' takes whole",
                                          taken.op().str(), tag_of(taken).str()),
                              "tag a control-flow node or the nodes in its bodies, not both");
      }
    }
    return {};
  }

  void number_tags(GraphTags& tags) {
    const std::vector<Symbol>& by_node = all_tags_.at(tags.graph);
    std::unordered_map<Symbol, std::uint32_t> number_of;
    tags.node_tag.assign(by_node.size(), none);
    for (const Node& node : tags.graph->nodes()) {
      Symbol tag = by_node[node.scratch];
      if (tag.empty()) continue;
      auto [entry, is_new] = number_of.try_emplace(tag, static_cast<std::uint32_t>(tags.tags.size()));
      if (is_new) {
        tags.tags.push_back(tag);
        tags.members.emplace_back();
      }
      tags.node_tag[node.scratch] = entry->second;
      tags.members[entry->second].push_back(&node);
    }
    tags.moved.resize(tags.graph->inputs().size());
    tags.moved_output.assign(tags.graph->outputs().size(), none);
  }

  void find_mutations() {
    for (std::size_t i = 0; i < method_.outputs.size(); ++i) {
      if (method_.outputs[i].mutates_data()) mutation_of_[method_.outputs[i].target] = i;
    }
    for (const auto& other : program_.methods) {
      if (other.get() == &method_) continue;
      for (const OutputSpec& output : other->outputs) {
        if (output.mutates_data()) written_elsewhere_.insert(output.target);
      }
    }
  }

  Status read_constant_tags() {
    GraphTags& main = table_.graphs.front();
    std::unordered_map<Symbol, std::uint32_t> number_of;
    for (std::uint32_t i = 0; i < main.tags.size(); ++i) number_of[main.tags[i]] = i;
    for (const auto& [value, tag] : partitions_.constant_tags) {
      TRY_STATUS(check_constant(*value, tag));
      auto number = number_of.find(tag);
      if (number == number_of.end()) continue;  // a tag without nodes
      std::vector<std::uint32_t>& moved = main.moved[value->index()];
      auto at = std::ranges::lower_bound(moved, number->second);
      if (at == moved.end() || *at != number->second) moved.insert(at, number->second);
    }
    for (const Value* input : main.graph->inputs()) {
      if (!main.moved[input->index()].empty()) TRY_STATUS(move_mutation(*input));
    }
    return {};
  }

  Status check_constant(const Value& value, Symbol tag) const {
    std::string name = input_text(value);
    LoweringPlace where{.method = method_.name.str(), .value = name, .tag = tag.str()};
    if (!partitions_.partition_tags.contains(tag)) {
      return lowering_error(LoweringFault::UnknownTag, where,
                            fmt::format("tag '{}' has no delegation spec", tag.str()),
                            "add the tag to partition_tags");
    }
    if (!method_.inputs[value.index()].has_data()) {
      return lowering_error(LoweringFault::InputTagged, where,
                            "only parameters, buffers and constants can move into a delegate");
    }
    Symbol key = method_.inputs[value.index()].target;
    if (written_elsewhere_.contains(key) && !mutation_of_.contains(key)) {
      return lowering_error(LoweringFault::SplitState, where,
                            fmt::format("{} is mutated by another method", name),
                            "leave the buffer untagged, so that the methods share it");
    }
    return {};
  }

  // A mutated buffer has one owner. It moves when that delegate has all its readers and its writer.
  Status move_mutation(const Value& buffer) {
    GraphTags& main = table_.graphs.front();
    auto mutation = mutation_of_.find(method_.inputs[buffer.index()].target);
    if (mutation == mutation_of_.end()) return {};
    std::uint32_t owner = main.moved[buffer.index()].front();
    const Argument& output = main.graph->outputs()[mutation->second];
    const Node* writer = output.is_value() ? output.as_value()->producer() : nullptr;
    bool is_whole =
        main.moved[buffer.index()].size() == 1 && writer != nullptr && main.tag_of(*writer) == owner;
    for (const Use& use : buffer.uses()) is_whole = is_whole && main.tag_of(*use.user) == owner;
    if (!is_whole) return split_state(buffer, writer);
    if (const Method* other = other_method_with(method_.inputs[buffer.index()].target))
      return shared_state(buffer, *writer, *other);
    main.moved_output[mutation->second] = owner;
    return {};
  }

  const Method* other_method_with(Symbol key) const {
    for (const auto& other : program_.methods) {
      if (other.get() != &method_ &&
          std::ranges::find(other->inputs, key, &InputSpec::target) != other->inputs.end())
        return other.get();
    }
    return nullptr;
  }

  std::unexpected<Diagnostic> shared_state(const Value& buffer, const Node& writer,
                                           const Method& other) const {
    std::string name = input_text(buffer);
    std::uint32_t tag = table_.graphs.front().moved[buffer.index()].front();
    LoweringPlace where{.method = method_.name.str(),
                        .node = &writer,
                        .value = name,
                        .tag = table_.graphs.front().tags[tag].str()};
    return lowering_error(LoweringFault::SplitState, where,
                          fmt::format("{} is mutated, and method {} uses it too", name, other.name.str()),
                          "leave the buffer untagged, so that the methods share it");
  }

  std::string node_text(const Node& node) const {
    std::uint32_t tag = table_.graphs.front().tag_of(node);
    std::string name = node.is_return() ? "the outputs" : fmt::format("%{}", node.display_name());
    return fmt::format(
        "{} ({})", name,
        tag == none ? "outside" : fmt::format("tag {}", table_.graphs.front().tags[tag].str()));
  }

  std::unexpected<Diagnostic> split_state(const Value& buffer, const Node* writer) const {
    std::vector<const Node*> users;
    for (const Use& use : buffer.uses()) users.push_back(use.user);
    std::ranges::sort(users, {}, &Node::scratch);
    users.erase(std::unique(users.begin(), users.end()), users.end());
    std::string readers;
    for (const Node* user : users) readers += (readers.empty() ? "" : ", ") + node_text(*user);
    std::string name = input_text(buffer);
    std::uint32_t tag = table_.graphs.front().moved[buffer.index()].front();
    LoweringPlace where{.method = method_.name.str(),
                        .node = writer,
                        .value = name,
                        .tag = table_.graphs.front().tags[tag].str()};
    return lowering_error(
        LoweringFault::SplitState, where,
        fmt::format(
            "{} is mutated, and its readers and writer lie in different places: read by {}; written by {}",
            name, readers.empty() ? "nothing" : readers, writer == nullptr ? "an input" : node_text(*writer)),
        "leave the buffer untagged, so that the method keeps it, or take all of these nodes");
  }

  Status check_single_copies() const {
    const GraphTags& main = table_.graphs.front();
    for (const Value* value : partitions_.no_copy) {
      const std::vector<std::uint32_t>& moved = main.moved[value->index()];
      if (moved.empty()) continue;
      for (const Use& use : value->uses()) {
        std::uint32_t tag = main.tag_of(*use.user);
        if (moved.size() == 1 && tag == moved.front()) continue;
        std::string name = input_text(*value);
        LoweringPlace where{.method = method_.name.str(),
                            .node = use.user,
                            .value = name,
                            .tag = main.tags[moved.front()].str()};
        return lowering_error(
            LoweringFault::SplitConstant, where,
            fmt::format("{} must not be copied; it is tagged with ({}) but has user ({}) which has tag ({})",
                        name, main.tags[moved.front()].str(), use.user->display_name(),
                        tag == none ? "None" : main.tags[tag].str()));
      }
    }
    return {};
  }

  const Program& program_;
  const Method& method_;
  const PartitionResult& partitions_;
  std::unordered_map<const Graph*, std::vector<Symbol>> all_tags_;  // by node number
  std::unordered_set<const Graph*> kept_;
  std::unordered_map<Symbol, std::size_t> mutation_of_;  // data key -> output
  std::unordered_set<Symbol> written_elsewhere_;         // data keys that other methods mutate
  TagTable table_;
};

}  // namespace

bool GraphTags::moves(const Value& value, std::uint32_t tag) const {
  if (value.producer() != nullptr || tag == none) return false;
  return std::ranges::binary_search(moved[value.index()], tag);
}

Result<TagTable> read_tags(const Program& program, const Method& method, const PartitionResult& partitions) {
  return TagReader(program, method, partitions).run();
}

}  // namespace depute
