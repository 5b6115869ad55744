#include "lower/carve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "lower/unit_order.h"
#include "support/check.h"

namespace depute {
namespace {

// A number for every value of a graph: inputs first, then results in node order. Nodes must be numbered.
class ValueNumbers {
 public:
  explicit ValueNumbers(const Graph& graph) {
    std::uint32_t next = static_cast<std::uint32_t>(graph.inputs().size());
    for (const Node& node : graph.nodes()) {
      first_result_.push_back(next);
      next += static_cast<std::uint32_t>(node.results().size());
    }
    count_ = next;
  }
  std::uint32_t of(const Value& value) const {
    if (value.producer() == nullptr) return value.index();
    return first_result_[value.producer()->scratch] + value.index();
  }
  std::uint32_t count() const { return count_; }

 private:
  std::vector<std::uint32_t> first_result_;
  std::uint32_t count_ = 0;
};

// Copies nodes from one graph to another, with their metadata.
class NodeCopier {
 public:
  explicit NodeCopier(Graph& to) : to_(to) {}

  template <typename MapValue>
  Node* copy(const Node& node, MapValue&& map_value) {
    args_.clear();
    kwargs_.clear();
    results_.clear();
    for (const Argument& argument : node.args()) args_.push_back(to_.import(argument, map_value));
    for (const auto& [name, value] : node.kwargs()) kwargs_.push_back({name, to_.import(value, map_value)});
    for (const Value* result : node.results()) results_.push_back({result->name(), result->type()});
    Node* copy = to_.add(node.op(), args_, kwargs_, results_);
    copy->debug_handle = node.debug_handle;
    copy->source = source(node.source);
    return copy;
  }

 private:
  const SourceLocation* source(const SourceLocation* from) {
    if (from == nullptr) return nullptr;
    const SourceLocation*& copy = sources_[from];
    if (copy == nullptr) copy = to_.add_source(*from);
    return copy;
  }

  Graph& to_;
  std::unordered_map<const SourceLocation*, const SourceLocation*> sources_;
  std::vector<Argument> args_;
  std::vector<NamedArgument> kwargs_;
  std::vector<ResultSpec> results_;
};

class Carver {
 public:
  Carver(const Program& program, const Method& method, const PartitionResult& partitions)
      : program_(program), method_(method), graph_(*method.graph), partitions_(partitions) {}

  Result<CarvedMethod> run(const std::function<Symbol(Symbol tag)>& delegate_name);

 private:
  static constexpr std::uint32_t no_tag = UnitOrder::no_group;

  Status read_tags();
  Status read_constant_tags(const std::unordered_map<Symbol, std::uint32_t>& number_of);
  bool moves(const Value& value, std::uint32_t tag) const;
  void find_inputs_kept();
  void add_inputs(CarvedMethod& carved);
  void add_partition(std::uint32_t tag, Symbol name, CarvedMethod& carved);
  std::vector<const Value*> imports_of(std::uint32_t tag);
  std::vector<const Value*> outputs_of(std::uint32_t tag) const;
  std::shared_ptr<Program> build_subprogram(std::uint32_t tag, const std::vector<const Value*>& imports,
                                            const std::vector<const Value*>& outputs);
  std::uint32_t tag_of(const Node& node) const { return node.is_return() ? no_tag : node_tag_[node.scratch]; }
  Value* parent_value(const Value& value) const { return in_parent_[numbers_->of(value)]; }

  const Program& program_;
  const Method& method_;
  const Graph& graph_;
  const PartitionResult& partitions_;
  std::optional<ValueNumbers> numbers_;
  std::vector<Symbol> tags_;                       // by tag number
  std::vector<std::uint32_t> node_tag_;            // by node number
  std::vector<std::vector<const Node*>> members_;  // by tag number, in node order
  std::vector<std::vector<std::uint32_t>> moved_;  // by graph input: tag numbers it moves into
  std::vector<bool> input_kept_;
  std::vector<Value*> in_parent_;  // by value number
  std::vector<Value*> in_child_;   // by value number, valid where child_stamp_ is the tag
  std::vector<std::uint32_t> child_stamp_;
};

Status Carver::read_tags() {
  std::unordered_map<Symbol, std::uint32_t> number_of;
  for (const auto& [tag, spec] : partitions_.partition_tags) {
    number_of[tag] = static_cast<std::uint32_t>(tags_.size());
    tags_.push_back(tag);
  }
  members_.resize(tags_.size());
  node_tag_.assign(graph_.number_nodes(), no_tag);
  for (const auto& [node, tag] : partitions_.node_tags) {
    auto found = number_of.find(tag);
    if (found == number_of.end()) {
      return error("to_backend", node->display_name(),
                   fmt::format("tag '{}' has no delegation spec", tag.str()));
    }
    if (&node->graph() != &graph_) {
      return error("to_backend", node->display_name(), "a node of another graph is tagged");
    }
    if (node->is_return()) return error("to_backend", "return", "the outputs should not be tagged");
    if (node_tag_[node->scratch] != no_tag) {
      return error("to_backend", node->display_name(), "this node is tagged twice");
    }
    node_tag_[node->scratch] = found->second;
  }
  for (const Node& node : graph_.nodes()) {
    if (tag_of(node) != no_tag) members_[tag_of(node)].push_back(&node);
  }
  return read_constant_tags(number_of);
}

Status Carver::read_constant_tags(const std::unordered_map<Symbol, std::uint32_t>& number_of) {
  moved_.resize(graph_.inputs().size());
  for (const auto& [value, tag] : partitions_.constant_tags) {
    auto found = number_of.find(tag);
    const InputSpec* spec = input_spec(method_, *value);
    if (found == number_of.end()) {
      return error("to_backend", value->name().str(),
                   fmt::format("tag '{}' has no delegation spec", tag.str()));
    }
    if (spec == nullptr || !spec->has_data()) {
      return error("to_backend", value->name().str(),
                   "only parameters, buffers and constants can move into a delegate");
    }
    if (is_mutated(method_, *spec)) {
      return error("to_backend", value->name().str(), "a mutated buffer cannot be copied into a delegate");
    }
    moved_[value->index()].push_back(found->second);
  }
  return {};
}

bool Carver::moves(const Value& value, std::uint32_t tag) const {
  if (value.producer() != nullptr || tag == no_tag) return false;
  return std::ranges::find(moved_[value.index()], tag) != moved_[value.index()].end();
}

// User inputs always stay; a constant stays when something outside of the delegates it moves into uses it.
void Carver::find_inputs_kept() {
  input_kept_.assign(graph_.inputs().size(), false);
  for (const Value* input : graph_.inputs()) {
    bool stays = !method_.inputs[input->index()].has_data() || moved_[input->index()].empty();
    for (const Use& use : input->uses()) {
      if (stays) break;
      stays = !moves(*input, tag_of(*use.user));
    }
    input_kept_[input->index()] = stays;
  }
}

void Carver::add_inputs(CarvedMethod& carved) {
  for (const Value* input : graph_.inputs()) {
    if (!input_kept_[input->index()]) continue;
    in_parent_[input->index()] = carved.method->graph->add_input(input->name(), input->type());
    carved.method->inputs.push_back(method_.inputs[input->index()]);
  }
}

// Values from outside, each once: parameters, buffers and constants that move in, then the arguments as they
// are met.
std::vector<const Value*> Carver::imports_of(std::uint32_t tag) {
  std::vector<const Value*> constants;
  std::vector<const Value*> arguments;
  for (const Node* node : members_[tag]) {
    for (std::size_t i = 0; i < node->operand_count(); ++i) {
      const Value* value = node->operand(i);
      if (value->producer() != nullptr && tag_of(*value->producer()) == tag) continue;
      std::uint32_t number = numbers_->of(*value);
      if (child_stamp_[number] == tag) continue;
      child_stamp_[number] = tag;
      (moves(*value, tag) ? constants : arguments).push_back(value);
    }
  }
  std::ranges::stable_sort(constants, {},
                           [&](const Value* value) { return method_.inputs[value->index()].kind; });
  constants.insert(constants.end(), arguments.begin(), arguments.end());
  return constants;
}

std::vector<const Value*> Carver::outputs_of(std::uint32_t tag) const {
  std::vector<const Value*> outputs;
  for (const Node* node : members_[tag]) {
    for (const Value* result : node->results()) {
      bool is_used = false;
      for (const Use& use : result->uses()) is_used = is_used || tag_of(*use.user) != tag;
      if (is_used) outputs.push_back(result);
    }
  }
  return outputs;
}

std::shared_ptr<Program> Carver::build_subprogram(std::uint32_t tag, const std::vector<const Value*>& imports,
                                                  const std::vector<const Value*>& outputs) {
  auto child = std::make_shared<Program>();
  child->ranges = program_.ranges;
  Method& method = child->add_method(Symbol("forward"));
  Graph& graph = *method.graph;
  for (const Value* value : imports) {
    in_child_[numbers_->of(*value)] = graph.add_input(value->name(), value->type());
    if (!moves(*value, tag)) {
      method.inputs.emplace_back();
      continue;
    }
    const InputSpec& spec = method_.inputs[value->index()];
    method.inputs.push_back(spec);
    child->data[spec.target] = *program_.find_data(spec.target);
  }
  NodeCopier copier(graph);
  auto map_value = [&](Value* value) { return Argument::of(in_child_[numbers_->of(*value)]); };
  for (const Node* node : members_[tag]) {
    Node* copy = copier.copy(*node, map_value);
    copy->tag = tags_[tag];
    for (std::size_t i = 0; i < node->results().size(); ++i) {
      in_child_[numbers_->of(*node->result(i))] = copy->result(i);
    }
  }
  std::vector<Argument> results;
  for (const Value* value : outputs) results.push_back(Argument::of(in_child_[numbers_->of(*value)]));
  graph.set_outputs(results);
  method.outputs.resize(results.size());
  return child;
}

void Carver::add_partition(std::uint32_t tag, Symbol name, CarvedMethod& carved) {
  std::vector<const Value*> outputs = outputs_of(tag);
  if (outputs.empty()) return;  // nothing outside needs it
  std::vector<const Value*> imports = imports_of(tag);
  CarvedPartition partition{.tag = tags_[tag],
                            .delegate_name = name,
                            .spec = partitions_.partition_tags.at(tags_[tag]),
                            .program = build_subprogram(tag, imports, outputs)};
  std::vector<Argument> args = {Argument::text(Argument::Kind::Delegate, name)};
  for (const Value* value : imports) {
    if (!moves(*value, tag)) args.push_back(Argument::of(parent_value(*value)));
  }
  std::vector<ResultSpec> results;
  for (const Value* value : outputs) results.push_back({name, value->type()});
  Node* call = carved.method->graph->add(Symbol("delegate.call"), args, {}, results);
  for (std::size_t i = 0; i < outputs.size(); ++i) in_parent_[numbers_->of(*outputs[i])] = call->result(i);
  carved.partitions.push_back(std::move(partition));
}

Result<CarvedMethod> Carver::run(const std::function<Symbol(Symbol tag)>& delegate_name) {
  TRY_STATUS(read_tags());
  numbers_.emplace(graph_);
  in_parent_.assign(numbers_->count(), nullptr);
  in_child_.assign(numbers_->count(), nullptr);
  child_stamp_.assign(numbers_->count(), no_tag);
  TRY(std::vector<UnitOrder::Unit> order, UnitOrder(graph_, node_tag_, tags_).run());
  find_inputs_kept();
  CarvedMethod carved;
  carved.method = std::make_unique<Method>();
  Method& method = *carved.method;
  method.name = method_.name;
  method.outputs = method_.outputs;
  method.in_spec = method_.in_spec;
  method.out_spec = method_.out_spec;
  method.graph = std::make_unique<Graph>(graph_.name());
  add_inputs(carved);
  NodeCopier copier(*method.graph);
  auto map_value = [&](Value* value) { return Argument::of(parent_value(*value)); };
  for (const UnitOrder::Unit& unit : order) {
    if (unit.node == nullptr) {
      add_partition(unit.group, delegate_name(tags_[unit.group]), carved);
      continue;
    }
    Node* copy = copier.copy(*unit.node, map_value);
    for (std::size_t i = 0; i < copy->results().size(); ++i) {
      in_parent_[numbers_->of(*unit.node->result(i))] = copy->result(i);
    }
  }
  std::vector<Argument> results;
  for (const Argument& output : graph_.outputs()) results.push_back(method.graph->import(output, map_value));
  method.graph->set_outputs(results);
  return carved;
}

}  // namespace

Result<CarvedMethod> carve(const Program& program, const Method& method, const PartitionResult& partitions,
                           const std::function<Symbol(Symbol tag)>& delegate_name) {
  if (!method.bodies.empty()) {
    return error("to_backend", method.name.str(), "methods with control flow cannot be partitioned",
                 "lower this method without a backend");
  }
  return Carver(program, method, partitions).run(delegate_name);
}

}  // namespace depute
