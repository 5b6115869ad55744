// Access to calls through their schema, and the check that they match it.
#include <fmt/format.h>

#include <algorithm>

#include "depute/program/infer.h"
#include "depute/program/op.h"
#include "ops/schema.h"
#include "support/check.h"

namespace depute {
namespace {

int find_argument(const OpDef& def, std::string_view name) {
  for (std::size_t i = 0; i < def.args.size(); ++i) {
    if (def.args[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

bool is_value_of(const Argument& argument, std::initializer_list<Type::Kind> kinds) {
  if (!argument.is_value()) return false;
  return std::ranges::find(kinds, argument.as_value()->type().kind) != kinds.end();
}

bool is_scalar(const Argument& argument) {
  return argument.is_number() || argument.kind == Argument::Kind::Complex ||
         is_value_of(argument, {Type::Kind::SymInt, Type::Kind::SymFloat, Type::Kind::SymBool,
                                Type::Kind::Int, Type::Kind::Float, Type::Kind::Bool});
}

bool fits_element(const Argument& argument, const ArgDef& def) {
  using Kind = Argument::Kind;
  switch (def.type) {
    case ArgType::Tensor:
      return is_value_of(argument, {Type::Kind::Tensor}) || (def.takes_numbers && is_scalar(argument));
    case ArgType::Int:
      return argument.is_int() || argument.kind == Kind::Bool ||
             (def.is_symbolic && is_value_of(argument, {Type::Kind::SymInt, Type::Kind::Int}));
    case ArgType::Float:
    case ArgType::Bool:
      return argument.is_number() || (def.is_symbolic && is_scalar(argument));
    case ArgType::Scalar:
      return is_scalar(argument);
    case ArgType::String:
      return argument.kind == Kind::String;
    case ArgType::ScalarType:
      return argument.kind == Kind::ScalarType;
    case ArgType::MemoryFormat:
      return argument.kind == Kind::MemoryFormat;
    case ArgType::Layout:
      return argument.kind == Kind::Layout;
    case ArgType::Device:
      return argument.kind == Kind::Device;
    case ArgType::Graph:
      return argument.kind == Kind::Graph;
    case ArgType::Operator:
      return argument.kind == Kind::Operator;
    case ArgType::Generator:
      return argument.is_none();
    case ArgType::Any:
      return true;
  }
  return false;
}

}  // namespace

bool internal::fits(const Argument& argument, const ArgDef& def) {
  if (argument.is_none()) return def.is_optional || def.type == ArgType::Any;
  if (!def.is_list) return fits_element(argument, def);
  if (!argument.is_list()) return def.type != ArgType::Tensor && fits_element(argument, def);  // one for all
  return std::ranges::all_of(argument.as_list(), [&](const Argument& element) {
    return (element.is_none() && def.optional_elements) || fits_element(element, def);
  });
}

namespace {

bool is_named(std::span<const NamedArgument> kwargs, Name name) {
  return std::ranges::find(kwargs, name, &NamedArgument::name) != kwargs.end();
}

Status bad_call(const Node& node, std::string message) {
  return node_failure(node, "normalize", fmt::format("{}: {}", node.op().str(), message));
}

}  // namespace

OpCall::OpCall(const OpDef& def, std::span<const Argument> args, std::span<const NamedArgument> kwargs,
               const Node* node)
    : def_(&def), args_(std::max(def.args.size(), def.is(OpFlag::Variadic) ? args.size() : 0)), node_(node) {
  CHECK(args.size() <= args_.size()) << def.schema;
  for (std::size_t i = args.size(); i < def.args.size(); ++i) {
    if (def.args[i].default_value) args_[i] = *def.args[i].default_value;
  }
  std::ranges::copy(args, args_.begin());
  for (const NamedArgument& named : kwargs) {
    int index = def.arg_index(named.name);
    if (index < 0 && def.is(OpFlag::Variadic)) continue;
    CHECK(index >= 0) << def.schema << ": " << named.name.str();
    args_[static_cast<std::size_t>(index)] = named.value;
  }
}

OpCall::OpCall(const Node& node) : OpCall(*node.def(), node.args(), node.kwargs(), &node) {}

const Argument& OpCall::operator[](std::string_view name) const {
  int index = find_argument(*def_, name);
  CHECK(index >= 0) << def_->schema << ": " << name;
  return args_[static_cast<std::size_t>(index)];
}

const Value* OpCall::value(std::string_view name) const {
  const Argument& argument = (*this)[name];
  return argument.is_value() ? argument.as_value() : nullptr;
}

const TensorType& OpCall::tensor(std::string_view name) const {
  const Value* tensor = value(name);
  CHECK(tensor != nullptr && tensor->type().is_tensor()) << def_->schema << ": " << name;
  return tensor->tensor();
}

std::vector<std::int64_t> OpCall::ints(std::string_view name) const {
  const Argument& argument = (*this)[name];
  if (argument.is_none()) return {};
  if (!argument.is_list()) return {argument.as_int()};
  std::vector<std::int64_t> numbers;
  for (const Argument& element : argument.as_list()) numbers.push_back(element.as_int());
  return numbers;
}

bool OpCall::is_constant_ints(std::string_view name) const {
  const Argument& argument = (*this)[name];
  if (argument.is_none()) return true;
  if (!argument.is_list()) return argument.is_int();
  return std::ranges::all_of(argument.as_list(), [](const Argument& element) { return element.is_int(); });
}

std::vector<const Value*> OpCall::values(std::string_view name) const {
  std::vector<const Value*> result;
  for (const Argument& element : (*this)[name].as_list()) {
    result.push_back(element.is_value() ? element.as_value() : nullptr);
  }
  return result;
}

SymInt as_sym_int(const Argument& argument) {
  if (!argument.is_value()) return SymInt(argument.as_int());
  const Value* value = argument.as_value();
  if (value->type().expr != nullptr) return SymInt(value->type().expr);
  return SymInt::symbol(value->name().str());  // a number without an expression is a symbol of its own
}

Dims as_dims(const Argument& list) {
  Dims dims;
  if (!list.is_list()) {
    if (!list.is_none()) dims.push_back(as_sym_int(list));
    return dims;
  }
  for (const Argument& element : list.as_list()) dims.push_back(as_sym_int(element));
  return dims;
}

namespace {

// Returns how the arguments violate the schema; empty if they match. Defaults always match, so only given
// arguments are checked.
std::string misfit_of(const OpDef& def, std::span<const Argument> args,
                      std::span<const NamedArgument> kwargs) {
  if (def.is(OpFlag::Variadic)) return {};
  if (args.size() > def.args.size())
    return fmt::format("got {} arguments; at most {} are allowed", args.size(), def.args.size());
  auto misfit = [&](const ArgDef& arg, const Argument& given) {
    return fmt::format("argument '{}' {}", arg.name.str(),
                       given.is_none() ? "is missing" : "has the wrong kind");
  };
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!internal::fits(args[i], def.args[i])) return misfit(def.args[i], args[i]);
  }
  for (std::size_t i = 0; i < kwargs.size(); ++i) {
    const NamedArgument& named = kwargs[i];
    int index = def.arg_index(named.name);
    if (index < 0) return fmt::format("unknown argument '{}'", named.name.str());
    bool is_twice = static_cast<std::size_t>(index) < args.size() || is_named(kwargs.first(i), named.name);
    if (is_twice) return fmt::format("duplicate argument '{}'", named.name.str());
    const ArgDef& arg = def.args[static_cast<std::size_t>(index)];
    if (!internal::fits(named.value, arg)) return misfit(arg, named.value);
  }
  for (std::size_t i = args.size(); i < def.args.size(); ++i) {
    const ArgDef& arg = def.args[i];
    if (arg.default_value || arg.is_optional || arg.type == ArgType::Any) continue;
    if (!is_named(kwargs, arg.name)) return fmt::format("argument '{}' is missing", arg.name.str());
  }
  return {};
}

}  // namespace

Status check_call(const Node& node) {
  return check_call(node, *node.def());
}

Status check_call(const Node& node, const OpDef& def) {
  std::string misfit = misfit_of(def, node.args(), node.kwargs());
  if (misfit.empty()) return {};
  return bad_call(node, std::move(misfit));
}

Status check_call(const OpDef& def, std::span<const Argument> args, std::span<const NamedArgument> kwargs) {
  const std::string misfit = misfit_of(def, args, kwargs);
  if (misfit.empty()) return {};
  return argument_error(fmt::format("{}: {}", def.name.str(), misfit));
}

Status check_results(const Node& node, const OpDef& def) {
  bool is_open = def.is(OpFlag::Variadic) || std::ranges::any_of(def.returns, [](const ReturnDef& result) {
                   return result.is_list || result.type == ArgType::Any;
                 });
  if (is_open) return {};
  const std::span<const Value* const> results = node.results();
  auto is_nothing = [](const Value* result) { return result->type().kind == Type::Kind::None; };
  if (def.returns.empty() && std::ranges::all_of(results, is_nothing)) return {};
  if (results.size() != def.returns.size()) {
    return bad_call(node, fmt::format("got {} results; expected {}", results.size(), def.returns.size()));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (is_nothing(results[i])) continue;
    bool is_tensor = def.returns[i].type == ArgType::Tensor;
    if (results[i]->type().is_tensor() != is_tensor) {
      return bad_call(node, fmt::format("result {} is {}a tensor", i, is_tensor ? "not " : ""));
    }
  }
  return {};
}

}  // namespace depute
