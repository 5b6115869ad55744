#include "lower/tag_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>

#include "depute/program/op.h"
#include "depute/program/walk.h"
#include "ir/node_order.h"
#include "lower/lowering_error.h"
#include "support/try.h"

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

// A buffer or parameter that the method mutates. Several inputs may refer to the same buffer.
struct MutatedBuffer {
  Name key;
  std::vector<const Value*> inputs;
  std::vector<std::size_t> stores;  // indices of outputs
};

class TagReader {
 public:
  TagReader(const Program& program, const Method& method, const PartitionResult& partitions)
      : program_(program), method_(method), partitions_(partitions) {}

  Result<TagTable> run() {
    make_tables();
    TRY_STATUS(check_references());
    TRY_STATUS(read_node_tags());
    if (!partitions_.node_tags.empty()) TRY_STATUS(check_functional());
    find_kept_graphs();
    TRY_STATUS(check_taken_bodies());
    for (GraphTags& tags : table_.graphs) number_tags(tags);
    find_mutated_buffers();
    TRY_STATUS(read_constant_tags());
    for (const MutatedBuffer& buffer : buffers_) TRY_STATUS(move_buffer(buffer));
    TRY_STATUS(check_single_copies());
    return std::move(table_);
  }

 private:
  LoweringPlace place() const { return {.method = method_.name.str()}; }
  LoweringPlace place(const Node& node, Name tag = {}) const {
    return {.method = method_.name.str(), .node = &node, .tag = tag.str()};
  }
  std::string input_text(const Value& input) const {
    const InputSpec& spec = method_.inputs[input.index()];
    std::string_view name = spec.has_data() ? spec.target.str() : input.name().str();
    return fmt::format("{} '{}'", kind_name(spec.kind), name);
  }

  void make_tables() {
    for (const Graph* graph : graphs_of(method_)) all_tags_[graph].resize(graph->node_ids());
  }

  // Checks that the result only names nodes and values of this method. All later code relies on this.
  Status check_references() const {
    if (partitions_.partition_tags.contains(Name())) {
      return lowering_error(LoweringFault::EmptyTag, place(), "the empty tag has a delegation spec",
                            "use a non-empty tag: the empty one marks undelegated nodes");
    }
    for (const auto& [node, tag] : partitions_.node_tags) TRY_STATUS(check_node(node, tag, "is tagged"));
    for (const auto& [node, verdict] : partitions_.verdicts)
      TRY_STATUS(check_node(node, {}, "has a verdict"));
    for (const auto& [value, tag] : partitions_.constant_tags)
      TRY_STATUS(check_input(value, tag, "be tagged as constants"));
    for (const Value* value : partitions_.no_copy) TRY_STATUS(check_input(value, {}, "be in no_copy"));
    return {};
  }

  Status check_node(const Node* node, Name tag, std::string_view what) const {
    const bool is_ours = node != nullptr && all_tags_.contains(&node->graph());
    if (is_ours && node->graph().has(*node)) return {};
    std::string_view kind = "null node";
    if (node != nullptr) kind = is_ours ? "erased node" : "node of another graph";
    return lowering_error(LoweringFault::ForeignNode,
                          {.method = method_.name.str(), .node = node, .tag = tag.str()},
                          fmt::format("{} {} {}", is_ours ? "an" : "a", kind, what),
                          "use the nodes of the method that partition() was called with");
  }

  Status check_input(const Value* value, Name tag, std::string_view what) const {
    auto inputs = method_.graph->inputs();
    bool is_input = value != nullptr && value->producer() == nullptr && value->index() < inputs.size() &&
                    inputs[value->index()] == value;
    if (is_input) return {};
    LoweringPlace where{.method = method_.name.str(),
                        .node = value == nullptr ? nullptr : value->producer(),
                        .tag = tag.str()};
    return lowering_error(LoweringFault::ForeignNode, where,
                          value == nullptr
                              ? "a value is null"
                              : fmt::format("%{} is not an input of the method", value->name().str()),
                          fmt::format("only the method's parameters, buffers and constants can {}", what));
  }

  Status read_node_tags() {
    for (const auto& [node, tag] : partitions_.node_tags) {
      auto graph = all_tags_.find(&node->graph());
      if (node->is_return())
        return lowering_error(LoweringFault::OutputTagged, place(*node, tag),
                              "the return node must not be tagged");
      if (!partitions_.partition_tags.contains(tag)) {
        return lowering_error(LoweringFault::UnknownTag, place(*node, tag),
                              fmt::format("tag '{}' has no delegation spec", tag.str()),
                              "add the tag to partition_tags");
      }
      Name& known = graph->second[node->id()];
      if (!known.empty())
        return lowering_error(LoweringFault::TaggedTwice, place(*node, tag), "this node is tagged twice");
      known = tag;
    }
    return {};
  }

  // Rejects nodes that write to their arguments: across a delegate's border the write would not be visible.
  Status check_functional() const {
    for (const Graph* graph : graphs_of(method_)) {
      for (const Node& node : graph->nodes()) {
        const OpDef* def = node.def();
        if (def == nullptr || !def->mutates()) continue;
        return lowering_error(LoweringFault::NotFunctional, place(node, tag_of(node)),
                              "it mutates its argument", "call normalize() before to_backend()");
      }
    }
    return {};
  }

  Name tag_of(const Node& node) const { return all_tags_.at(&node.graph())[node.id()]; }

  void find_kept_graphs() {
    auto stays = [&](const Node& node) { return tag_of(node).empty(); };
    for (const Graph* graph : graphs_of(method_, stays)) {
      kept_.insert(graph);
      table_.graphs.push_back({.graph = graph});
    }
  }

  // A tagged node takes its bodies along: nodes in them have the same tag or none.
  Status check_taken_bodies() const {
    for (const GraphTags& kept : table_.graphs) {
      for (const Node& node : kept.graph->nodes()) {
        if (tag_of(node).empty()) continue;
        TRY_STATUS(check_taken_bodies(node));
      }
    }
    return {};
  }
  Status check_taken_bodies(const Node& taken) const {
    for (const Graph* graph : graphs_below(taken)) {
      if (kept_.contains(graph)) continue;  // an undelegated node uses it too
      for (const Node& node : graph->nodes()) {
        Name tag = tag_of(node);
        if (tag.empty() || tag == tag_of(taken)) continue;
        return lowering_error(LoweringFault::TagInsideTakenBody, place(node, tag),
                              fmt::format("it is in a body of {}, which tag '{}' contains completely",
                                          taken.op().str(), tag_of(taken).str()),
                              "tag a control-flow node or the nodes in its bodies, not both");
      }
    }
    return {};
  }

  void number_tags(GraphTags& tags) {
    const std::vector<Name>& by_node = all_tags_.at(tags.graph);
    std::unordered_map<Name, std::uint32_t> number_of;
    tags.node_tag.assign(by_node.size(), none);
    for (const Node& node : tags.graph->nodes()) {
      Name tag = by_node[node.id()];
      if (tag.empty()) continue;
      auto [entry, is_new] = number_of.try_emplace(tag, static_cast<std::uint32_t>(tags.tags.size()));
      if (is_new) {
        tags.tags.push_back(tag);
        tags.members.emplace_back();
      }
      tags.node_tag[node.id()] = entry->second;
      tags.members[entry->second].push_back(&node);
    }
    tags.moved.resize(tags.graph->inputs().size());
    tags.moved_output.assign(tags.graph->outputs().size(), none);
  }

  void find_mutated_buffers() {
    for (std::size_t i = 0; i < method_.outputs.size(); ++i) {
      if (!method_.outputs[i].mutates_data()) continue;
      auto [entry, is_new] = buffer_of_.try_emplace(method_.outputs[i].target, buffers_.size());
      if (is_new) buffers_.push_back({.key = method_.outputs[i].target});
      buffers_[entry->second].stores.push_back(i);
    }
    for (const Value* input : method_.graph->inputs()) {
      const InputSpec& spec = method_.inputs[input->index()];
      auto found = spec.has_data() ? buffer_of_.find(spec.target) : buffer_of_.end();
      if (found != buffer_of_.end()) buffers_[found->second].inputs.push_back(input);
    }
    if (partitions_.constant_tags.empty()) return;  // nothing asks for other methods' writes
    for (const auto& other : program_.methods) {
      if (other.get() == &method_) continue;
      for (const OutputSpec& output : other->outputs) {
        if (output.mutates_data()) written_elsewhere_.insert(output.target);
      }
    }
  }

  Status read_constant_tags() {
    GraphTags& main = table_.graphs.front();
    std::unordered_map<Name, std::uint32_t> number_of;
    for (std::uint32_t i = 0; i < main.tags.size(); ++i) number_of[main.tags[i]] = i;
    for (const auto& [value, tag] : partitions_.constant_tags) {
      TRY_STATUS(check_constant(*value, tag));
      auto number = number_of.find(tag);
      if (number == number_of.end()) continue;  // a tag without nodes
      std::vector<std::uint32_t>& moved = main.moved[value->index()];
      auto at = std::ranges::lower_bound(moved, number->second);
      if (at == moved.end() || *at != number->second) moved.insert(at, number->second);
    }
    return {};
  }

  Status check_constant(const Value& value, Name tag) const {
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
    Name key = method_.inputs[value.index()].target;
    if (written_elsewhere_.contains(key) && !buffer_of_.contains(key)) {
      return lowering_error(LoweringFault::SplitState, where,
                            fmt::format("{} is mutated by another method", name),
                            "leave the buffer untagged, so that the methods share it");
    }
    return {};
  }

  // A mutated buffer has one owner: it moves, with all its inputs, if the owner contains all its readers and
  // writers. A buffer without readers moves as well.
  Status move_buffer(const MutatedBuffer& buffer) {
    GraphTags& main = table_.graphs.front();
    std::uint32_t owner = owner_of(buffer);
    if (owner == none) return {};
    if (!is_whole(buffer, owner)) return split_state(buffer, owner);
    if (const Method* other = other_method_with(buffer.key)) return shared_state(buffer, owner, *other);
    for (const Value* input : buffer.inputs) main.moved[input->index()] = {owner};
    for (std::size_t store : buffer.stores) main.moved_output[store] = owner;
    return {};
  }

  // Returns the tag that some input of the buffer moves to, or none if all inputs stay.
  std::uint32_t owner_of(const MutatedBuffer& buffer) const {
    for (const Value* input : buffer.inputs) {
      const std::vector<std::uint32_t>& moved = table_.graphs.front().moved[input->index()];
      if (!moved.empty()) return moved.front();
    }
    return none;
  }

  bool is_whole(const MutatedBuffer& buffer, std::uint32_t owner) const {
    const GraphTags& main = table_.graphs.front();
    auto is_owner = [&](const Node* node) { return node != nullptr && main.tag_of(*node) == owner; };
    auto lies_in_owner = [&](const Value* input) {
      return std::ranges::all_of(main.moved[input->index()], [&](auto tag) { return tag == owner; }) &&
             std::ranges::all_of(input->uses(), [&](const Use& use) { return is_owner(use.user()); });
    };
    return std::ranges::all_of(buffer.inputs, lies_in_owner) &&
           std::ranges::all_of(buffer.stores, [&](std::size_t store) { return is_owner(writer_of(store)); });
  }

  // Returns the node that computes the stored value, or null if the value is a graph input.
  const Node* writer_of(std::size_t output) const {
    const Argument& value = method_.graph->outputs()[output];
    return value.is_value() ? value.as_value()->producer() : nullptr;
  }

  const Method* other_method_with(Name key) const {
    for (const auto& other : program_.methods) {
      if (other.get() != &method_ &&
          std::ranges::find(other->inputs, key, &InputSpec::target) != other->inputs.end())
        return other.get();
    }
    return nullptr;
  }

  Failure shared_state(const MutatedBuffer& buffer, std::uint32_t owner, const Method& other) const {
    std::string name = input_text(*buffer.inputs.front());
    return lowering_error(LoweringFault::SplitState, place(buffer, owner, name),
                          fmt::format("{} is mutated, but method {} also uses it", name, other.name.str()),
                          "leave the buffer untagged, so that the methods share it");
  }

  LoweringPlace place(const MutatedBuffer& buffer, std::uint32_t owner, std::string_view name) const {
    return {.method = method_.name.str(),
            .node = writer_of(buffer.stores.front()),
            .value = name,
            .tag = table_.graphs.front().tags[owner].str()};
  }

  std::string node_text(const Node& node) const {
    std::uint32_t tag = table_.graphs.front().tag_of(node);
    std::string name = node.is_return() ? "the outputs" : fmt::format("%{}", node.display_name());
    return fmt::format(
        "{} ({})", name,
        tag == none ? "outside" : fmt::format("tag {}", table_.graphs.front().tags[tag].str()));
  }

  // Lists each node once, in node order: "%a (tag t0), %b (outside)".
  std::string nodes_text(std::vector<const Node*> nodes) const {
    const NodeOrder order(*method_.graph);
    std::ranges::sort(nodes, {}, [&](const Node* node) { return order[*node]; });
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    std::string text;
    for (const Node* node : nodes) text += (text.empty() ? "" : ", ") + node_text(*node);
    return text;
  }

  std::string readers_text(const MutatedBuffer& buffer) const {
    std::vector<const Node*> readers;
    for (const Value* input : buffer.inputs) {
      for (const Use& use : input->uses()) readers.push_back(use.user());
    }
    return readers.empty() ? "nothing" : nodes_text(std::move(readers));
  }

  std::string writers_text(const MutatedBuffer& buffer) const {
    std::vector<const Node*> writers;
    for (std::size_t store : buffer.stores) writers.push_back(writer_of(store));
    std::erase(writers, nullptr);
    return writers.empty() ? "an input" : nodes_text(std::move(writers));
  }

  Failure split_state(const MutatedBuffer& buffer, std::uint32_t owner) const {
    std::string name = input_text(*buffer.inputs.front());
    return lowering_error(LoweringFault::SplitState, place(buffer, owner, name),
                          fmt::format("{} is mutated, but its readers and writer are in different "
                                      "partitions: read by {}; written by {}",
                                      name, readers_text(buffer), writers_text(buffer)),
                          "leave the buffer untagged, so that the method owns it, or put all of these nodes "
                          "into one partition");
  }

  Status check_single_copies() const {
    const GraphTags& main = table_.graphs.front();
    for (const Value* value : partitions_.no_copy) {
      const std::vector<std::uint32_t>& moved = main.moved[value->index()];
      if (moved.empty()) continue;
      for (const Use& use : value->uses()) {
        std::uint32_t tag = main.tag_of(*use.user());
        if (moved.size() == 1 && tag == moved.front()) continue;
        std::string name = input_text(*value);
        LoweringPlace where{.method = method_.name.str(),
                            .node = use.user(),
                            .value = name,
                            .tag = main.tags[moved.front()].str()};
        return lowering_error(
            LoweringFault::SplitConstant, where,
            fmt::format("{} must not be copied; it is tagged with ({}) but has user ({}) which has tag ({})",
                        name, main.tags[moved.front()].str(), use.user()->display_name(),
                        tag == none ? "None" : main.tags[tag].str()));
      }
    }
    return {};
  }

  const Program& program_;
  const Method& method_;
  const PartitionResult& partitions_;
  std::unordered_map<const Graph*, std::vector<Name>> all_tags_;  // by node id
  std::unordered_set<const Graph*> kept_;
  std::vector<MutatedBuffer> buffers_;               // in the order of their first store
  std::unordered_map<Name, std::size_t> buffer_of_;  // data key -> place among buffers_
  std::unordered_set<Name> written_elsewhere_;       // data keys that other methods mutate
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
