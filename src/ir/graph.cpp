#include "depute/program/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>

#include "ir/verify.h"
#include "support/check.h"

namespace depute {
namespace {

// CHECKs the nesting of an argument, so that functions over arguments can recurse. Arguments of torch.export
// are nested at most three deep.
void check_nesting(const Argument& argument, int depth = 0) {
  bool is_list = argument.kind == Argument::Kind::List;
  if (!is_list && argument.kind != Argument::Kind::Map) return;
  CHECK(depth < max_argument_depth) << "arguments are nested deeper than max_argument_depth";
  if (is_list) {
    for (const Argument& element : argument.as_list()) check_nesting(element, depth + 1);
  } else {
    for (const NamedArgument& entry : argument.as_map()) check_nesting(entry.value, depth + 1);
  }
}

}  // namespace

std::string SourceLocation::str() const {
  std::string text(file.str());
  if (!file.empty() && line > 0) {
    std::array<char, 16> digits;
    text.append(":").append(digits.data(), std::to_chars(digits.begin(), digits.end(), line).ptr);
  }
  if (module_path.empty()) return text;
  if (text.empty()) return std::string(module_path.str());
  return text.append(" (").append(module_path.str()).append(")");
}

std::size_t Value::use_count() const {
  std::size_t count = 0;
  for (const Use* use = uses_; use != nullptr; use = use->next_) ++count;
  return count;
}

template <typename AnyGraph>
std::vector<AnyGraph*> Node::collect_bodies() const {
  std::vector<AnyGraph*> bodies;
  const auto collect = [&](const Argument& leaf) {
    if (leaf.kind == Argument::Kind::Graph) bodies.push_back(leaf.graph_ptr_);
  };
  for (const Argument& argument : args_) for_each_leaf(argument, collect);
  for (const NamedArgument& argument : kwargs_) for_each_leaf(argument.value, collect);
  return bodies;
}

std::vector<Graph*> Node::bodies() {
  return collect_bodies<Graph>();
}

std::vector<const Graph*> Node::bodies() const {
  return collect_bodies<const Graph>();
}

Graph::Graph(const OpTable* ops, Name name) : ops_(ops), name_(name) {
  return_ = new (arena_.allocate(sizeof(Node), alignof(Node))) Node;
  return_->op_ = Name("return");
  return_->is_return_ = true;
  return_->graph_ = this;
}

Failure node_failure(const Node& node, std::string_view code, std::string_view message, std::string_view hint,
                     std::string_view where) {
  const std::string place = where.empty() ? fmt::format("node %{}", node.display_name()) : std::string(where);
  Failure failed = failure(code, place, message, hint);
  if (node.source != nullptr) failed.error().source = node.source->str();
  return failed;
}

void Graph::use_ops(const OpTable& ops) {
  ops_ = &ops;
  for (Node& node : nodes()) node.def_ = ops.find(node.op_);
}

template <typename T>
std::span<T> Graph::allocate(std::size_t count) {
  if (count == 0) return {};
  T* memory = static_cast<T*>(arena_.allocate(sizeof(T) * count, alignof(T)));
  std::uninitialized_value_construct_n(memory, count);
  return {memory, count};
}

// The values that a node of this graph is called with, as cells that may be edited.
template <typename Visit>
void Graph::for_each_cell(Argument& argument, Visit&& visit) {
  if (argument.kind == Argument::Kind::Value) {
    visit(argument);
  } else if (argument.kind == Argument::Kind::List) {
    for (Argument& element : std::span(argument.elements_, argument.count)) for_each_cell(element, visit);
  } else if (argument.kind == Argument::Kind::Map) {
    for (NamedArgument& entry : std::span(argument.entries_, argument.count))
      for_each_cell(entry.value, visit);
  }
}

template <typename Visit>
void Graph::for_each_cell(Node& node, Visit&& visit) {
  for (Argument& argument : node.args_) for_each_cell(argument, visit);
  for (NamedArgument& argument : node.kwargs_) for_each_cell(argument.value, visit);
}

// Fails a CHECK for values of another graph, whose use lists this graph must not edit.
void Graph::check_argument(const Argument& argument) const {
  check_nesting(argument);
  for_each_value(argument, [&](const Argument& cell) {
    CHECK(has(*cell.as_value())) << cell.as_value()->name().str() << " is not a value of the graph";
  });
}

// Makes one Use for every value cell of the node's arguments.
void Graph::attach(Node& node) {
  for (const Argument& argument : node.args_) check_nesting(argument);
  for (const NamedArgument& argument : node.kwargs_) check_nesting(argument.value);
  std::size_t count = 0;
  for_each_cell(node, [&](const Argument&) { ++count; });
  node.uses_ = count <= node.uses_.size() ? node.uses_.first(count) : allocate<Use>(count);
  std::size_t i = 0;
  for_each_cell(node, [&](Argument& cell) {
    Use& use = node.uses_[i++];
    Value* value = cell.value_ptr_;
    use.user_ = &node;
    use.argument_ = &cell;
    use.next_ = value->uses_;
    use.link_ = &value->uses_;
    if (use.next_ != nullptr) use.next_->link_ = &use.next_;
    value->uses_ = &use;
  });
}

void Graph::detach(Node& node) {
  for (Use& use : node.uses_) {
    if (use.link_ == nullptr) continue;
    *use.link_ = use.next_;
    if (use.next_ != nullptr) use.next_->link_ = use.link_;
    use.link_ = nullptr;
  }
}

void Graph::link(Node& node, Node* before) {
  node.next_ = before;
  node.previous_ = before != nullptr ? before->previous_ : last_;
  (node.previous_ != nullptr ? node.previous_->next_ : first_) = &node;
  (before != nullptr ? before->previous_ : last_) = &node;
}

void Graph::unlink(Node& node) {
  (node.previous_ != nullptr ? node.previous_->next_ : first_) = node.next_;
  (node.next_ != nullptr ? node.next_->previous_ : last_) = node.previous_;
  node.next_ = node.previous_ = nullptr;
}

Value* Graph::add_input(Name name, const Type& type) {
  Value* value = new (arena_.allocate(sizeof(Value), alignof(Value))) Value;
  value->name_ = unique_name(name);
  value->type_ = shared(type);
  value->index_ = static_cast<std::uint32_t>(inputs_.size());
  inputs_.push_back(value);
  ++revision_;
  return value;
}

Node* Graph::add(Name op, std::span<const Argument> args, std::span<const NamedArgument> kwargs,
                 std::span<const ResultSpec> results, Node* before) {
  CHECK(before == nullptr || before->graph_ == this);
  for (const Argument& argument : args) check_argument(argument);
  for (const NamedArgument& argument : kwargs) check_argument(argument.value);
  Node* node = new (arena_.allocate(sizeof(Node), alignof(Node))) Node;
  node->op_ = op;
  node->def_ = ops_->find(op);
  node->id_ = node_ids_++;
  node->graph_ = this;
  node->args_ = allocate<Argument>(args.size());
  std::ranges::copy(args, node->args_.begin());
  node->kwargs_ = allocate<NamedArgument>(kwargs.size());
  std::ranges::copy(kwargs, node->kwargs_.begin());
  node->results_ = allocate<Value*>(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    Value* value = new (arena_.allocate(sizeof(Value), alignof(Value))) Value;
    value->name_ = unique_name(results[i].name);
    value->type_ = shared(results[i].type);
    value->producer_ = node;
    value->index_ = static_cast<std::uint32_t>(i);
    node->results_[i] = value;
  }
  link(*node, before != nullptr && before->is_return_ ? nullptr : before);
  attach(*node);
  ++node_count_;
  ++revision_;
  return node;
}

Node* Graph::add(Name op, std::initializer_list<Argument> args, std::initializer_list<NamedArgument> kwargs,
                 std::initializer_list<ResultSpec> results, Node* before) {
  return add(op, std::span(args.begin(), args.size()), std::span(kwargs.begin(), kwargs.size()),
             std::span(results.begin(), results.size()), before);
}

Argument Graph::list(std::span<const Argument> elements) {
  std::span<Argument> copy = allocate<Argument>(elements.size());
  std::ranges::copy(elements, copy.begin());
  return Argument::list_of(copy);
}

Argument Graph::list(std::initializer_list<Argument> elements) {
  return list(std::span(elements.begin(), elements.size()));
}

Argument Graph::int_list(std::span<const std::int64_t> values) {
  std::vector<Argument> elements;
  elements.reserve(values.size());
  for (std::int64_t value : values) elements.push_back(Argument::of(value));
  return list(elements);
}

Argument Graph::int_list(std::initializer_list<std::int64_t> values) {
  return int_list(std::span(values.begin(), values.size()));
}

Argument Graph::map(std::span<const NamedArgument> entries) {
  std::span<NamedArgument> copy = allocate<NamedArgument>(entries.size());
  std::ranges::copy(entries, copy.begin());
  return Argument::map_of(copy);
}

Argument Graph::complex(double real, double imaginary) {
  Argument argument = list({Argument::of(real), Argument::of(imaginary)});
  argument.kind = Argument::Kind::Complex;
  return argument;
}

void Graph::set_outputs(std::span<const Argument> outputs) {
  set_args(*return_, outputs, {});
}

// Returns the graph's copy of a type; most values share their type with many others.
const Type* Graph::shared(const Type& type) {
  return &*types_.insert(type).first;
}

std::size_t Graph::TypeHash::operator()(const Type& type) const {
  std::size_t hash = static_cast<std::size_t>(type.kind) * 64 + static_cast<std::size_t>(type.tensor.dtype);
  const auto add = [&](std::size_t part) { hash = (hash ^ (hash >> 29)) * 0x9E3779B97F4A7C15ULL + part; };
  const auto add_dims = [&](const Dims& dims) {
    for (const SymInt& dim : dims)
      add(dim.is_constant() ? static_cast<std::size_t>(dim.value()) : std::hash<const void*>()(dim.expr()));
  };
  add_dims(type.tensor.sizes);
  add(type.tensor.sizes.size());
  add_dims(type.tensor.strides);
  add(std::hash<const void*>()(type.expr));
  add(std::hash<Name>()(type.class_name));
  return hash;
}

std::size_t Graph::SourceHash::operator()(const SourceLocation& source) const {
  auto hash = static_cast<std::size_t>(source.line);
  for (Name part : {source.file, source.module_path, source.original_op, source.custom}) {
    hash = hash * 0x9E3779B97F4A7C15ULL + std::hash<Name>()(part);
  }
  return hash;
}

const SourceLocation* Graph::add_source(SourceLocation source) {
  return &*sources_.insert(source).first;
}

std::span<const NodeOrigin> Graph::add_origins(std::span<const NodeOrigin> origins) {
  std::span<NodeOrigin> copy = allocate<NodeOrigin>(origins.size());
  for (std::size_t i = 0; i < origins.size(); ++i) {
    copy[i] = origins[i];
    if (copy[i].source != nullptr) copy[i].source = add_source(*copy[i].source);
  }
  return copy;
}

Node* Graph::own(const Node& node) {
  CHECK(has(node)) << node.op().str();
  if (node.is_return_) return return_;
  return node.previous_ != nullptr ? node.previous_->next_ : first_;
}

bool Graph::has(const Node& node) const {
  if (node.graph_ != this) return false;
  if (node.is_return_) return return_ == &node;
  return (node.previous_ != nullptr ? node.previous_->next_ : first_) == &node;
}

bool Graph::has(const Value& value) const {
  if (value.producer_ != nullptr) return has(*value.producer_);
  return value.index_ < inputs_.size() && inputs_[value.index_] == &value;
}

Value* Graph::own(const Value& value) {
  CHECK(has(value)) << value.name().str();
  return value.producer_ == nullptr ? inputs_[value.index_] : value.producer_->results_[value.index_];
}

void Graph::replace_uses(Value& old, Value* replacement) {
  CHECK(replacement != nullptr && replacement != &old) << old.name().str();
  while (old.uses_ != nullptr) set_operand(*old.uses_, Argument::of(replacement));
}

void Graph::set_operand(Use& use, Argument replacement) {
  CHECK(use.link_ != nullptr && use.user_->graph_ == this);
  check_argument(replacement);
  *use.link_ = use.next_;
  if (use.next_ != nullptr) use.next_->link_ = use.link_;
  use.link_ = nullptr;
  *use.argument_ = replacement;
  ++revision_;
  if (replacement.is_value()) {
    Value* value = replacement.value_ptr_;
    use.next_ = value->uses_;
    use.link_ = &value->uses_;
    if (use.next_ != nullptr) use.next_->link_ = &use.next_;
    value->uses_ = &use;
    return;
  }
  Node& node = *use.user_;  // the number of value cells changed: make the node's uses again
  detach(node);
  attach(node);
}

void Graph::set_operand(Node& node, std::size_t operand, Value* value) {
  set_operand(node.uses_[operand], Argument::of(value));
}

void Graph::set_args(Node& node, std::span<const Argument> args, std::span<const NamedArgument> kwargs) {
  CHECK(node.graph_ == this);
  for (const Argument& argument : args) check_argument(argument);
  for (const NamedArgument& argument : kwargs) check_argument(argument.value);
  detach(node);
  std::span<Argument> new_args = allocate<Argument>(args.size());
  std::ranges::copy(args, new_args.begin());
  std::span<NamedArgument> new_kwargs = allocate<NamedArgument>(kwargs.size());
  std::ranges::copy(kwargs, new_kwargs.begin());
  node.args_ = new_args;
  node.kwargs_ = new_kwargs;
  attach(node);
  ++revision_;
}

void Graph::set_op(Node& node, Name op) {
  node.op_ = op;
  node.def_ = ops_->find(op);
  ++revision_;
}

void Graph::set_type(Value& value, const Type& type) {
  if (value.type() == type) return;
  value.type_ = shared(type);
  ++revision_;
}

void Graph::rename(Value& value, Name name) {
  if (value.name_ == name) return;
  value.name_ = unique_name(name);
  ++revision_;
}

void Graph::erase(Node& node) {
  CHECK(!node.is_return_ && node.graph_ == this);
  for (Value* result : node.results_) CHECK(!result->has_uses()) << "erasing %" << result->name().str();
  detach(node);
  unlink(node);
  --node_count_;
  ++revision_;
}

void Graph::erase_input(std::size_t index) {
  CHECK(!inputs_[index]->has_uses()) << "erasing input %" << inputs_[index]->name().str();
  inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(index));
  for (std::size_t i = index; i < inputs_.size(); ++i) inputs_[i]->index_ = static_cast<std::uint32_t>(i);
  ++revision_;
}

void Graph::retain_inputs(const std::vector<bool>& keep) {
  CHECK(keep.size() == inputs_.size());
  std::vector<Value*> kept;
  for (Value* input : inputs_) {
    CHECK(keep[input->index_] || !input->has_uses()) << "erasing input %" << input->name().str();
    if (keep[input->index_]) kept.push_back(input);
  }
  inputs_ = std::move(kept);
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->index_ = static_cast<std::uint32_t>(i);
  ++revision_;
}

void Graph::move_before(Node& node, Node* before) {
  if (&node == before) return;
  unlink(node);
  link(node, before != nullptr && before->is_return_ ? nullptr : before);
  ++revision_;
}

Argument Graph::import_argument(const Argument& argument, ImportFunction map_leaf, void* context) {
  switch (argument.kind) {
    case Argument::Kind::List:
    case Argument::Kind::Complex: {
      std::vector<Argument> elements;
      for (const Argument& element : argument.as_list()) {
        elements.push_back(import_argument(element, map_leaf, context));
      }
      Argument copy = list(elements);
      copy.kind = argument.kind;
      return copy;
    }
    case Argument::Kind::Map: {
      std::vector<NamedArgument> entries;
      for (const NamedArgument& entry : argument.as_map()) {
        entries.push_back({entry.name, import_argument(entry.value, map_leaf, context)});
      }
      return map(entries);
    }
    case Argument::Kind::None:
    case Argument::Kind::Value:
    case Argument::Kind::Int:
    case Argument::Kind::Float:
    case Argument::Kind::Bool:
    case Argument::Kind::String:
    case Argument::Kind::ScalarType:
    case Argument::Kind::MemoryFormat:
    case Argument::Kind::Layout:
    case Argument::Kind::Device:
    case Argument::Kind::Graph:
    case Argument::Kind::Operator:
    case Argument::Kind::Delegate:
      return map_leaf(context, argument);
  }
  return argument;
}

Name Graph::unique_name(Name wanted) {
  if (wanted.empty()) wanted = Name("value");
  if (names_.try_emplace(wanted, 1).second) return wanted;
  for (;;) {
    std::uint32_t suffix = names_[wanted]++;
    Name candidate = Name::scoped(fmt::format("{}_{}", wanted.str(), suffix));
    if (names_.try_emplace(candidate, 1).second) return candidate;
  }
}

}  // namespace depute
