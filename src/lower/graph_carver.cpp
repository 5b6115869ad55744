#include "lower/graph_carver.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "depute/program/op.h"
#include "depute/program/walk.h"
#include "lower/unit_order.h"
#include "lower/unite_inputs.h"
#include "ops/own_ops.h"
#include "support/try.h"

namespace depute {
GraphCarver::GraphCarver(const Program& program, const Effects& effects, const Method& method,
                         const PartitionResult& partitions, const GraphTags& tags, Graph& to,
                         const BodyMap& bodies, const BorderType& border_type)
    : program_(program),
      effects_(effects),
      method_(method),
      partitions_(partitions),
      tags_(tags),
      from_(*tags.graph),
      to_(to),
      bodies_(bodies),
      border_type_(border_type),
      mutations_(tags.tags.size()),
      is_needed_(tags.tags.size(), false),
      unused_(tags.tags.size()) {
  auto count = static_cast<std::uint32_t>(from_.inputs().size());
  first_result_.resize(from_.node_ids());
  for (const Node& node : from_.nodes()) {
    first_result_[node.id()] = count;
    count += static_cast<std::uint32_t>(node.results().size());
  }
  used_outside_.assign(count, false);
  in_parent_.assign(count, nullptr);
  in_child_.assign(count, nullptr);
  child_stamp_.assign(count, none);
  for (std::size_t i = 0; i < tags_.moved_output.size(); ++i) {
    std::uint32_t owner = tags_.moved_output[i];
    if (owner == none) continue;
    mutations_[owner].push_back(i);
    is_needed_[owner] = true;
  }
}

std::uint32_t GraphCarver::number_of(const Value& value) const {
  if (value.producer() == nullptr) return value.index();
  return first_result_[value.producer()->id()] + value.index();
}

// An input stays if a node outside its delegates uses it. An unused constant, or a buffer that is only
// written, moves into the first of its delegates.
void GraphCarver::find_inputs_kept() {
  input_kept_.assign(from_.inputs().size(), true);
  for (const Value* input : from_.inputs()) {
    const std::vector<std::uint32_t>& moved = tags_.moved[input->index()];
    if (moved.empty()) continue;
    bool stays = false;
    if (!input->has_uses()) {
      unused_[moved.front()].push_back(input);
      stays = !is_needed_[moved.front()];
    }
    for (const Use& use : input->uses()) stays = stays || !tags_.moves(*input, tags_.tag_of(*use.user()));
    input_kept_[input->index()] = stays;
  }
}

// An output that is a mutation inside a delegate does not count as an outside use.
void GraphCarver::find_outside_users() {
  for (const Node& node : from_.nodes()) {
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value& value = *node.operand(i);
      std::uint32_t producer = value.producer() == nullptr ? none : tags_.tag_of(*value.producer());
      if (producer != tags_.tag_of(node)) use_outside(value);
    }
  }
  auto outputs = from_.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (tags_.moved_output[i] != none) continue;
    for_each_value(outputs[i], [&](const Argument& cell) { use_outside(*cell.as_value()); });
  }
}

void GraphCarver::use_outside(const Value& value) {
  used_outside_[number_of(value)] = true;
  if (value.producer() == nullptr) return;
  std::uint32_t tag = tags_.tag_of(*value.producer());
  if (tag != none) is_needed_[tag] = true;
}

// Effects matter only for a partition without used results.
void GraphCarver::find_effects() {
  for (std::uint32_t tag = 0; tag < tags_.tags.size(); ++tag) {
    if (is_needed_[tag]) continue;
    is_needed_[tag] = std::ranges::any_of(tags_.members[tag],
                                          [&](const Node* node) { return effects_.has_effects(*node); });
  }
}

GraphCarver::Imports GraphCarver::imports_of(std::uint32_t tag) {
  Imports imports;
  auto add = [&](const Value* value) {
    if (value->producer() != nullptr && tags_.tag_of(*value->producer()) == tag) return;
    std::uint32_t number = number_of(*value);
    if (child_stamp_[number] == tag) return;
    child_stamp_[number] = tag;
    (tags_.moves(*value, tag) ? imports.constants : imports.arguments).push_back(value);
  };
  for (const Node* node : tags_.members[tag]) {
    for (std::size_t i = 0; i < node->operand_count(); ++i) add(node->operand(i));
  }
  for (const Value* unused : unused_[tag]) add(unused);
  std::ranges::stable_sort(imports.constants, {},
                           [&](const Value* value) { return method_.inputs[value->index()].kind; });
  return imports;
}

std::vector<const Value*> GraphCarver::results_of(std::uint32_t tag) const {
  std::vector<const Value*> results;
  for (const Node* node : tags_.members[tag]) {
    for (const Value* result : node->results()) {
      if (used_outside_[number_of(*result)]) results.push_back(result);
    }
  }
  return results;
}

Type GraphCarver::border_type(std::uint32_t tag, const Value& value) const {
  if (!value.type().is_tensor()) return value.type();
  TensorType tensor = value.tensor();
  const DelegationSpec& spec = partitions_.partition_tags.at(tags_.tags[tag]);
  const ScalarType dtype = border_type_(spec, tensor.dtype);
  if (dtype == tensor.dtype) return value.type();
  tensor.dtype = dtype;
  return tensor_type(tensor);
}

// The value in the element type of `type`.
Value* GraphCarver::converted(Graph& graph, Value* value, const Type& type, std::uint32_t tag) const {
  if (!type.is_tensor() || value->tensor().dtype == type.tensor.dtype) return value;
  Node* copy = graph.add(Name("dim_order_ops._to_dim_order_copy.default"), {Argument::of(value)},
                         {{Name("dtype"), Argument::of(type.tensor.dtype)}}, {{value->name(), type}});
  const SourceLocation* source = tags_.members[tag].front()->source;
  if (source != nullptr) copy->source = graph.add_source(*source);
  return copy->result();
}

// Delegates share conversions of their arguments.
Value* GraphCarver::argument_for(std::uint32_t tag, const Value& value) {
  Value* given = in_parent_[number_of(value)];
  const Type type = border_type(tag, value);
  if (!type.is_tensor() || type.tensor.dtype == value.tensor().dtype) return given;
  auto [entry, is_new] = converted_.try_emplace({given, type.tensor.dtype}, nullptr);
  if (is_new) entry->second = converted(to_, given, type, tag);
  return entry->second;
}

void GraphCarver::add_child_inputs(Program& child, std::uint32_t tag, const Imports& imports) {
  Method& method = *child.methods.front();
  auto add = [&](const Value* value) {
    in_child_[number_of(*value)] = method.graph->add_input(value->name(), value->type());
  };
  for (const Value* value : imports.constants) {
    add(value);
    const InputSpec& spec = method_.inputs[value->index()];
    method.inputs.push_back(spec);
    child.data[spec.target] = *program_.find_data(spec.target);
  }
  for (const Value* value : imports.arguments) {
    Value* input = method.graph->add_input(value->name(), border_type(tag, *value));
    in_child_[number_of(*value)] = converted(*method.graph, input, value->type(), tag);
    method.inputs.emplace_back();
  }
}

// Copies all bodies below the partition's nodes.
void GraphCarver::add_child_bodies(Program& child, std::uint32_t tag, BodyMap& bodies) const {
  if (method_.bodies.empty()) return;
  Method& method = *child.methods.front();
  for (const Node* node : tags_.members[tag]) {
    for (const Graph* graph : graphs_below(*node)) {
      auto [entry, is_new] = bodies.try_emplace(graph, nullptr);
      if (!is_new) continue;
      method.bodies.push_back(std::make_unique<Graph>(graph->name(), graph->ops()));
      entry->second = method.bodies.back().get();
    }
  }
  for (const auto& [from, to] : bodies) copy_graph(*from, *to, bodies);
}

void GraphCarver::add_child_nodes(Program& child, std::uint32_t tag, const BodyMap& bodies) {
  NodeCopier copier(*child.methods.front()->graph, bodies);
  auto map_value = [&](const Value* value) { return Argument::of(in_child_[number_of(*value)]); };
  for (const Node* node : tags_.members[tag]) {
    Node* copy = copier.copy(*node, map_value);
    copy->tag = tags_.tags[tag];
    for (std::size_t i = 0; i < node->results().size(); ++i)
      in_child_[number_of(*node->result(i))] = copy->result(i);
  }
}

// Mutations come first, as in torch.export.
void GraphCarver::add_child_outputs(Program& child, std::uint32_t tag,
                                    const std::vector<const Value*>& results) {
  Method& method = *child.methods.front();
  std::vector<Argument> outputs;
  for (std::size_t i : mutations_[tag]) {
    outputs.push_back(Argument::of(in_child_[number_of(*from_.outputs()[i].as_value())]));
    method.outputs.push_back(method_.outputs[i]);
  }
  for (const Value* value : results) {
    Value* in_child = in_child_[number_of(*value)];
    outputs.push_back(Argument::of(converted(*method.graph, in_child, border_type(tag, *value), tag)));
    method.outputs.emplace_back();
  }
  method.graph->set_outputs(outputs);
}

// Adds the delegates of an earlier lowering that the partition calls: they are nested in the new delegate.
void GraphCarver::add_child_delegates(Program& child) const {
  if (program_.delegates.empty()) return;
  std::unordered_set<Name> called;
  auto look = [&](const Graph& graph) {
    for (const Node& node : graph.nodes()) called.insert(called_delegate(node));
  };
  look(*child.methods.front()->graph);
  for (const auto& body : child.methods.front()->bodies) look(*body);
  for (const auto& delegate : program_.delegates) {
    if (called.contains(delegate->name)) child.delegates.push_back(std::make_unique<Delegate>(*delegate));
  }
}

std::shared_ptr<Program> GraphCarver::build_subprogram(std::uint32_t tag, const Imports& imports,
                                                       const std::vector<const Value*>& results) {
  auto child = std::make_shared<Program>(empty_like(program_));
  child->add_method(Name("forward"));
  BodyMap bodies;
  add_child_inputs(*child, tag, imports);
  add_child_bodies(*child, tag, bodies);
  add_child_nodes(*child, tag, bodies);
  add_child_outputs(*child, tag, results);
  add_child_delegates(*child);
  unite_inputs(*child->methods.front());
  return child;
}

// Returns the delegate's name, with a suffix if a value of the program has this name.
Name GraphCarver::result_name(Name delegate, int& suffix) const {
  for (;;) {
    Name name = suffix == 0 ? delegate : Name::scoped(fmt::format("{}_{}", delegate.str(), suffix));
    ++suffix;
    if (!from_.has_name(name) && !to_.has_name(name)) return name;
  }
}

void GraphCarver::add_partition(std::uint32_t tag, const std::function<Name(Name tag)>& delegate_name,
                                std::vector<CarvedPartition>& partitions) {
  if (!is_needed_[tag]) return;
  std::vector<const Value*> results = results_of(tag);
  Name name = delegate_name(tags_.tags[tag]);
  Imports imports = imports_of(tag);
  CarvedPartition partition{.tag = tags_.tags[tag],
                            .delegate_name = name,
                            .spec = partitions_.partition_tags.at(tags_.tags[tag]),
                            .program = build_subprogram(tag, imports, results),
                            .graph = &from_};
  std::vector<Argument> args = {Argument::text(Argument::Kind::Delegate, name)};
  for (const Value* value : imports.arguments) args.push_back(Argument::of(argument_for(tag, *value)));
  std::vector<ResultSpec> specs;
  specs.reserve(results.size());
  int suffix = 0;
  for (const Value* value : results) specs.push_back({result_name(name, suffix), border_type(tag, *value)});
  partition.call = to_.add(delegate_call_symbol(), args, {}, specs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    Value* result = partition.call->result(i);
    Value* given = converted(to_, result, results[i]->type(), tag);
    in_parent_[number_of(*results[i])] = given;
    if (given != result) converted_[{given, result->tensor().dtype}] = result;
  }
  partitions.push_back(std::move(partition));
}

Status GraphCarver::run(const std::function<Name(Name tag)>& delegate_name,
                        std::vector<CarvedPartition>& partitions) {
  const EffectOrder effects(effects_, from_);
  TRY(std::vector<UnitOrder::Unit> order,
      UnitOrder(method_.name, from_, tags_.node_tag, tags_.tags, effects).run());
  find_outside_users();
  find_effects();
  find_inputs_kept();
  for (const Value* input : from_.inputs()) {
    if (input_kept_[input->index()]) in_parent_[input->index()] = to_.add_input(input->name(), input->type());
  }
  NodeCopier copier(to_, bodies_);
  auto map_value = [&](const Value* value) { return Argument::of(in_parent_[number_of(*value)]); };
  for (const UnitOrder::Unit& unit : order) {
    if (unit.node == nullptr) {
      add_partition(unit.group, delegate_name, partitions);
      continue;
    }
    Node* copy = copier.copy(*unit.node, map_value);
    copy->tag = Name();
    for (std::size_t i = 0; i < copy->results().size(); ++i)
      in_parent_[number_of(*unit.node->result(i))] = copy->result(i);
  }
  std::vector<Argument> outputs;
  for (std::size_t i = 0; i < from_.outputs().size(); ++i) {
    if (tags_.moved_output[i] == none) outputs.push_back(copier.import(from_.outputs()[i], map_value));
  }
  to_.set_outputs(outputs);
  // Results that other delegates alone read.
  for (const auto& [key, value] : converted_) {
    Node* conversion = key.first->producer();
    if (!key.first->has_uses() && conversion != nullptr && conversion->operand(0) == value)
      to_.erase(*conversion);
  }
  return {};
}

}  // namespace depute
