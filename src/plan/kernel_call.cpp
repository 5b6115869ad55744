// Plans calls of the stock runtime's kernels. Each argument of a node, defaults included, becomes a value of
// the kind that the kernel's C++ type requires; the tensors that the kernel writes follow.
//
//   aten.add.Tensor(%x, %y)    ->   aten::add.out(x, y, Int 1, out, out)
#include <fmt/format.h>

#include <algorithm>

#include "ops/contents.h"
#include "ops/kernel_rules.h"
#include "plan/method_planner.h"
#include "support/check.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Returns the runtime's number of a torch memory format.
std::int64_t memory_format_number(MemoryFormat format) {
  switch (format) {
    case MemoryFormat::Contiguous:
      return 0;
    case MemoryFormat::Preserve:
      return 1;
    case MemoryFormat::ChannelsLast:
      return 2;
    case MemoryFormat::ChannelsLast3d:
      return 3;
  }
  return 0;
}

std::string unfit(const Node& node, const ArgDef& arg) {
  return fmt::format("{}: argument {} has a type that the kernel does not accept", node.op().str(),
                     arg.name.str());
}

// The type of a list's elements.
ArgDef element_of(const ArgDef& list) {
  return {.name = list.name, .type = list.type};
}

KernelResult result_of(const OpDef& def) {
  if (def.returns.empty() || def.returns[0].type != ArgType::Tensor) return KernelResult::Value;
  return def.returns[0].is_list ? KernelResult::TensorList : KernelResult::Tensors;
}

// The record whose schema the kernel has: of a user's op on a kernel of the runtime, that of PyTorch's op.
//   shop.scaled.default => aten::mul.out     aten.mul.out(Tensor self, Tensor other, *, Tensor(a!) out)
const OpDef& op_of_kernel(const OpDef& def) {
  std::string name = def.out_name;
  if (const std::size_t colons = name.find("::"); colons != name.npos) name.replace(colons, 2, ".");
  const OpDef* found = torch_ops()->find(Name(name));
  return found == nullptr ? def : *found;
}

}  // namespace

Result<const KernelUse*> MethodPlanner::kernel_use(const Node& node, const OpDef& def) {
  auto known = kernel_uses_.find(node.op());
  if (known != kernel_uses_.end()) return &known->second;
  const KernelLibrary* library = find_kernel_library(def.out_name);
  const bool is_of_user = def.origin == OpOrigin::Backend;
  if (library == nullptr && !is_of_user) return has_no_kernel(node);
  if (library == nullptr) {
    needed_.own_kernels.insert(def.out_name);
  } else if (!library->python_module.empty()) {
    needed_.python_modules.emplace(library->python_module);
  }
  TRY(KernelUse use, kernel_use_of(node, def, is_of_user && library != nullptr ? op_of_kernel(def) : def));
  return &kernel_uses_.emplace(node.op(), std::move(use)).first->second;
}

// The tensors of an out variant are the results.
Result<KernelUse> MethodPlanner::kernel_use_of(const Node& node, const OpDef& def, const OpDef& kernel) {
  KernelUse use{.op_index = operator_index(def.out_name), .result = result_of(kernel)};
  use.result_count = kernel.returns.size();
  const bool is_other = &kernel != &def;
  for (std::size_t i = 0; i < kernel.args.size(); ++i) {
    const ArgDef& arg = kernel.args[i];
    if (!kernel.is_kernel_argument(i) || (is_other && arg.is_written)) continue;
    const int source = is_other ? def.arg_index(arg.name) : static_cast<int>(i);
    if (source < 0) {
      return fail(&node, fmt::format("{} has no argument {}, which {} requires", node.op().str(),
                                     arg.name.str(), def.out_name));
    }
    use.args.push_back({.def = &arg, .source = static_cast<std::size_t>(source)});
  }
  for (std::size_t i : donated_arguments(kernel)) {
    use.args[i].is_written = true;
    --use.result_count;
  }
  return use;
}

Status MethodPlanner::plan_kernel_call(const Node& node, const OpDef& def) {
  TRY(const KernelUse* use, kernel_use(node, def));
  OpCall call(node);
  if (auto reason = refused_by_kernel(call))
    return fail(&node, *reason, "choose a backend that supports it, or replace it in the model");
  const auto contents = static_cast<std::size_t>(std::ranges::count_if(use->args, &KernelArg::is_written));
  if (node.results().size() < contents)
    return fail(&node, fmt::format("{} has too few results", node.op().str()));
  std::size_t content = node.results().size() - contents;  // they follow the other results
  const auto results = node.results().first(content);
  std::vector<std::int32_t> args;
  for (const KernelArg& arg : use->args) {
    const Argument& given = call[arg.source];
    TRY(std::int32_t index, argument(node, *arg.def, given));
    if (arg.is_written && given.is_value())
      index = copied_to_result(*given.as_value(), index, *node.result(content));
    if (arg.is_written) ++content;
    args.push_back(index);
  }
  TRY_STATUS(add_results(node, *use, results, args));
  add_instruction(Instruction::Kind::KernelCall, use->op_index, args);
  return {};
}

// Adds the tensors that the kernel writes, and one more entry for its return value, which is never read. Out
// variants return their out argument; kernels that only write to arguments return None.
Status MethodPlanner::add_results(const Node& node, const KernelUse& use,
                                  std::span<const Value* const> values, std::vector<std::int32_t>& args) {
  std::vector<std::int64_t> results;
  for (const Value* value : values) {
    bool is_number = use.result == KernelResult::Value;
    if (value->type().is_tensor() == is_number || (is_number && value->type().kind == Type::Kind::None)) {
      return fail(&node, fmt::format("%{}: {} does not return a {}", value->name().str(), node.op().str(),
                                     str(value->type())));
    }
    results.push_back(add_result(*value));
  }
  bool is_list = use.result == KernelResult::TensorList;
  if (!is_list && results.size() != use.result_count) {
    return fail(&node, fmt::format("{} has {} results, but its kernel has {}", node.op().str(),
                                   results.size(), use.result_count));
  }
  if (is_list) results = {pool_.tensor_list(results, false)};
  for (std::int64_t result : results) args.push_back(static_cast<std::int32_t>(result));
  if (use.result == KernelResult::Value) return {};
  // A place of its own: what the kernel returns after all would else be everyone's None.
  args.push_back(results.empty() ? pool_.add(EValue{}) : static_cast<std::int32_t>(results.front()));
  return {};
}

Result<std::int32_t> MethodPlanner::argument(const Node& node, const ArgDef& arg, const Argument& value) {
  if (value.is_value()) {
    const InputSpec* spec = input_spec(method_, *value.as_value());
    // A number that the user's call fixed is treated as a literal, so that it gets the kernel's kind.
    if (spec != nullptr && spec->constant) return argument(node, arg, *spec->constant);
  }
  if (value.is_none()) {
    if (arg.is_optional) return pool_.null();
    return fail(&node, fmt::format("{}: argument {} must not be None", node.op().str(), arg.name.str()));
  }
  return arg.is_list ? list_argument(node, arg, value) : single_argument(node, arg, value);
}

Result<std::int32_t> MethodPlanner::list_argument(const Node& node, const ArgDef& arg,
                                                  const Argument& value) {
  if (arg.type == ArgType::Tensor) return tensor_list(node, arg, value);
  if (arg.type == ArgType::Int) {
    std::vector<std::int64_t> items;
    const ArgDef element = element_of(arg);
    auto elements = value.is_list() ? std::span<const Argument>(value.as_list()) : std::span(&value, 1);
    for (const Argument& item : elements) {
      TRY(std::int32_t index, argument(node, element, item));
      items.push_back(index);
    }
    return pool_.int_list(items);
  }
  return number_list(node, arg, value);
}

Result<std::int32_t> MethodPlanner::tensor_list(const Node& node, const ArgDef& arg, const Argument& value) {
  if (!value.is_list()) return fail(&node, unfit(node, arg));
  std::vector<std::int64_t> items;
  const ArgDef element = element_of(arg);
  for (const Argument& item : value.as_list()) {
    if (item.is_none() && arg.optional_elements) {
      items.push_back(-1);
      continue;
    }
    TRY(std::int32_t index, argument(node, element, item));
    items.push_back(index);
  }
  return pool_.tensor_list(items, arg.optional_elements);
}

// Floats and bools lie in the list itself, so they must be known now.
Result<std::int32_t> MethodPlanner::number_list(const Node& node, const ArgDef& arg, const Argument& value) {
  if (!value.is_list() || !std::ranges::all_of(value.as_list(), &Argument::is_number)) {
    return fail(&node, unfit(node, arg));
  }
  std::vector<double> doubles;
  std::vector<std::int64_t> bools;
  for (const Argument& item : value.as_list()) {
    doubles.push_back(item.as_double());
    bools.push_back(item.as_double() != 0);
  }
  return arg.type == ArgType::Float ? pool_.double_list(doubles) : pool_.bool_list(bools);
}

Result<std::int32_t> MethodPlanner::single_argument(const Node& node, const ArgDef& arg,
                                                    const Argument& value) {
  if (value.is_value()) return value_argument(node, arg, *value.as_value());
  using Kind = Argument::Kind;
  switch (arg.type) {
    case ArgType::Int:
      if (value.is_int() || value.kind == Kind::Bool) return pool_.integer(value.as_int());
      break;
    case ArgType::Float:
      if (value.is_number()) return pool_.number(value.as_double());
      break;
    case ArgType::Bool:
      if (value.is_int() || value.kind == Kind::Bool) return pool_.boolean(value.as_int() != 0);
      break;
    case ArgType::Scalar:
      if (value.is_int()) return pool_.integer(value.as_int());
      if (value.kind == Kind::Bool) return pool_.boolean(value.as_bool());
      if (value.kind == Kind::Float) return pool_.number(value.as_double());
      break;
    case ArgType::String:
      if (value.kind == Kind::String) return pool_.text(value.as_symbol().str());
      break;
    case ArgType::ScalarType:
      if (value.kind == Kind::ScalarType) {
        if (auto number = executorch_number(value.as_scalar_type())) return pool_.integer(*number);
      }
      break;
    case ArgType::MemoryFormat:
      if (value.kind == Kind::MemoryFormat) {
        return pool_.integer(memory_format_number(static_cast<MemoryFormat>(value.as_int())));
      }
      break;
    default:
      break;
  }
  return fail(&node, unfit(node, arg));
}

Result<std::int32_t> MethodPlanner::value_argument(const Node& node, const ArgDef& arg, const Value& value) {
  Type::Kind kind = value.type().kind;
  TRY(std::int32_t index, index_of(value, &node));
  bool fits = false;
  switch (arg.type) {
    case ArgType::Tensor:
      fits = kind == Type::Kind::Tensor;
      break;
    case ArgType::Int:
      fits = kind == Type::Kind::SymInt;
      break;
    case ArgType::Bool:
      fits = kind == Type::Kind::SymBool;
      break;
    case ArgType::Scalar:
      fits = kind == Type::Kind::SymInt || kind == Type::Kind::SymFloat || kind == Type::Kind::SymBool;
      break;
    case ArgType::Float:
      if (kind == Type::Kind::SymInt) {
        std::int32_t number = pool_.add_scalar(EValue::Kind::Double);
        call("executorch_prim::sym_float.Scalar", {index, number});
        return number;
      }
      fits = kind == Type::Kind::SymFloat;
      break;
    default:
      break;
  }
  if (!fits) return fail(&node, unfit(node, arg));
  return index;
}

}  // namespace depute::internal
