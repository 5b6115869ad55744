#include "depute/program/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "depute/program/infer.h"
#include "depute/program/program.h"
#include "ops/control/size_values.h"
#include "support/check.h"

namespace depute {
namespace {

// Names a value after its op like FX: aten.mul.Tensor gives "mul".
Name result_name(Name op) {
  std::string_view text = op.str();
  std::size_t overload = text.rfind('.');
  std::size_t space = overload == std::string_view::npos ? overload : text.rfind('.', overload - 1);
  if (space == std::string_view::npos) return Name(text.substr(text.find('.') + 1));
  return Name(text.substr(space + 1, overload - space - 1));
}

bool same(const Argument& a, const Argument& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Argument::Kind::None:
      return true;
    case Argument::Kind::List:
      return std::ranges::equal(a.as_list(), b.as_list(), same);
    case Argument::Kind::Float:
      return a.as_double() == b.as_double();
    case Argument::Kind::Int:
    case Argument::Kind::Bool:
    case Argument::Kind::ScalarType:
    case Argument::Kind::MemoryFormat:
    case Argument::Kind::Layout:
      return a.as_int() == b.as_int();
    case Argument::Kind::String:
    case Argument::Kind::Operator:
    case Argument::Kind::Device:
    case Argument::Kind::Delegate:
      return a.as_symbol() == b.as_symbol();
    case Argument::Kind::Value:
    case Argument::Kind::Complex:
    case Argument::Kind::Graph:
    case Argument::Kind::Map:
      return false;
  }
  return false;
}

bool is_default(const ArgDef& def, const Argument& argument) {
  return def.default_value.has_value() && same(*def.default_value, argument);
}

// The arguments of a new node: positional ones up to the last that differs from its default, and keyword-only
// ones that differ.
struct WrittenCall {
  std::vector<Argument> args;
  std::vector<NamedArgument> kwargs;
};

WrittenCall write_call(const OpDef& def, std::span<const Argument> args) {
  WrittenCall call;
  std::size_t positional = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (def.args[i].keyword_only) {
      if (!is_default(def.args[i], args[i])) call.kwargs.push_back({def.args[i].name, args[i]});
    } else if (!is_default(def.args[i], args[i])) {
      positional = i + 1;
    }
  }
  call.args.assign(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(positional));
  return call;
}

// Checks a call from a rule or a user of the library.
Status check_buildable(std::string_view op, const OpDef* def, std::span<const Argument> args,
                       bool has_types) {
  if (def == nullptr) return argument_error(fmt::format("unknown op {}", op));
  if (def->infer == nullptr && !has_types)
    return argument_error(fmt::format("the result types of {} are not known", op));
  return check_call(*def, args, {});
}

}  // namespace

Builder::Builder(Graph& graph, Node* before, SizeValues* sizes, Method* method)
    : graph_(&graph), before_(before), sizes_(sizes), method_(method) {}

Builder::~Builder() = default;

Value* Builder::own(const Value* value) {
  if (value == nullptr || graph_->has(*value)) return value == nullptr ? nullptr : graph_->own(*value);
  fail(argument_error(fmt::format("%{} is not a value of the builder's graph", value->name().str())).error());
  return nullptr;
}

std::vector<Value*> Builder::own(const std::vector<const Value*>& values) {
  std::vector<Value*> owned;
  for (const Value* value : values) owned.push_back(own(value));
  return owned;
}

void Builder::inherit(const Node& node) {
  tag_ = node.tag;
  origin_ = {.debug_handle = node.debug_handle, .source = node.source};
  replaced_ = node.replaced;
}

void Builder::inherit(const Builder& other) {
  tag_ = other.tag_;
  origin_ = other.origin_;
  replaced_ = other.replaced_;
}

Value* Builder::call(std::string_view op, std::initializer_list<BuilderArgument> args) {
  return call(op, std::span(args.begin(), args.size()));
}

Value* Builder::call(std::string_view op, std::span<const BuilderArgument> args) {
  std::vector<Value*> results = call_all(op, args);
  return results.empty() ? nullptr : results[0];
}

std::vector<Value*> Builder::call_all(std::string_view op, std::initializer_list<BuilderArgument> args) {
  return call_all(op, std::span(args.begin(), args.size()));
}

std::vector<Value*> Builder::call_all(std::string_view op, std::span<const BuilderArgument> args) {
  std::vector<Argument> ready;
  if (failed()) return {};
  for (const BuilderArgument& argument : args) ready.push_back(make_argument(argument));
  return add_node(op, ready);
}

Value* Builder::call(std::string_view op, std::span<const Argument> args) {
  std::vector<Value*> results = call_all(op, args);
  return results.empty() ? nullptr : results[0];
}

std::vector<Value*> Builder::call_all(std::string_view op, std::span<const Argument> args) {
  std::vector<Argument> copies;
  for (const Argument& argument : args) copies.push_back(make_argument(argument));
  return add_node(op, copies);
}

// All `args` must be in this graph's arena.
std::vector<Value*> Builder::add_node(std::string_view op, std::span<const Argument> args) {
  if (failed()) return {};
  const OpDef* def = graph_->ops().find(Name(op));
  if (auto status = check_buildable(op, def, args, false); !status) {
    fail(std::move(status).error());
    return {};
  }
  WrittenCall written = write_call(*def, args);
  auto types = result_types(OpCall(*def, written.args, written.kwargs));
  if (!types) {
    fail(std::move(types).error());
    return {};
  }
  if (sizes_ != nullptr) {
    for (Type& type : *types) sizes_->simplify(type);
  }
  return add_node(*def, written.args, written.kwargs, *types);
}

std::vector<Value*> Builder::add_node(const OpDef& def, std::span<const Argument> args,
                                      std::span<const NamedArgument> kwargs, std::span<const Type> types) {
  std::vector<ResultSpec> results;
  for (const Type& type : types) results.push_back({result_name(def.name), type});
  Node* node = graph_->add(def.name, args, kwargs, results, before_);
  node->tag = tag_;
  node->debug_handle = origin_.debug_handle;
  node->source = origin_.source;
  node->replaced = replaced_;
  return {node->results().begin(), node->results().end()};
}

std::vector<Value*> Builder::call_typed(std::string_view op, std::initializer_list<BuilderArgument> args,
                                        std::span<const Type> types) {
  if (failed()) return {};
  std::vector<Argument> ready;
  for (const BuilderArgument& argument : args) ready.push_back(make_argument(argument));
  const OpDef* def = graph_->ops().find(Name(op));
  if (auto status = check_buildable(op, def, ready, true); !status) {
    fail(std::move(status).error());
    return {};
  }
  return failed() ? std::vector<Value*>{} : add_node(*def, ready, {}, types);
}

Graph* Builder::add_body(std::string_view name) {
  if (failed()) return nullptr;
  if (method_ == nullptr) {
    fail(argument_error("cannot add a body graph: the builder has no method").error());
    return nullptr;
  }
  const auto is_taken = [&](Name wanted) {
    return std::ranges::any_of(method_->bodies, [&](const auto& body) { return body->name() == wanted; });
  };
  Name free = Name::scoped(name);
  for (int i = 1; is_taken(free); ++i) free = Name::scoped(fmt::format("{}_{}", name, i));
  method_->bodies.push_back(std::make_unique<Graph>(free, graph_->ops()));
  return method_->bodies.back().get();
}

Value* Builder::view(Value* x, const Dims& sizes) {
  if (failed() || x->tensor().sizes == sizes) return x;
  Dims written = sizes;
  const auto symbolic = std::ranges::count_if(sizes, [](const SymInt& size) { return !size.is_constant(); });
  const bool is_empty = std::ranges::any_of(sizes, [](const SymInt& size) { return size == 0; });
  if (symbolic == 1 && !is_empty) {  // one size can be -1: no arithmetic is needed
    for (SymInt& size : written) {
      if (!size.is_constant()) size = -1;
    }
  }
  Value* result = call("aten.view.default", {x, written});
  if (result != nullptr) graph_->set_type(*result, tensor_type({.dtype = x->tensor().dtype, .sizes = sizes}));
  return result;
}

Argument Builder::size(const SymInt& value) {
  if (value.is_constant()) return Argument::of(value.value());
  if (sizes_ == nullptr) {
    own_sizes_ = std::make_unique<SizeValues>(*graph_);
    sizes_ = own_sizes_.get();
  }
  Value* found = sizes_->find_or_build(value.expr(), before_, origin_);
  if (found != nullptr) return Argument::of(found);
  fail({.code = "normalize",
        .message = fmt::format("no value in the graph provides the size {}", value.str())});
  return {};
}

Range Builder::range_of(const SymInt& size) const {
  if (sizes_ != nullptr) return sizes_->range_of(size);
  return size.is_constant() ? Range{size.value(), size.value()} : Range{};
}

Argument Builder::make_argument(const BuilderArgument& argument) {
  std::vector<Argument> elements;
  switch (argument.kind) {
    case BuilderArgument::Kind::Ready:  // lists are copied: nodes must not share cells
      return graph_->import(argument.ready, [&](const Value* value) { return Argument::of(own(value)); });
    case BuilderArgument::Kind::Value:
      return Argument::of(own(argument.single));
    case BuilderArgument::Kind::Ints:
      for (const SymInt& value : argument.ints) elements.push_back(size(value));
      break;
    case BuilderArgument::Kind::Values:
      for (Value* value : argument.values) elements.push_back(Argument::of(own(value)));
      break;
  }
  return graph_->list(elements);
}

void Builder::fail(Diagnostic diagnostic) {
  if (!failed()) status_ = Failure(std::move(diagnostic));
  if (leaves_rules_) throw RuleLeft();
}

}  // namespace depute
