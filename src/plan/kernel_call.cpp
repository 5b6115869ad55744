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

std::string unfit(const Node& node, const KernelArg& arg) {
  return fmt::format("{}: argument {} is not what the kernel takes", node.op().str(), arg.name);
}

// Describes the kernel of a custom op. The application registers it; it takes the arguments of the op's
// schema in order, and writes tensors.
KernelUse own_kernel_use(const OpDef& def, std::int32_t op_index) {
  KernelUse use{op_index, {}, {}};
  use.signature.result_count = def.returns.size();
  for (std::size_t i = 0; i < def.args.size(); ++i) {
    const ArgDef& arg = def.args[i];
    use.signature.args.push_back({.name = arg.name.str(),
                                  .type = arg.type,
                                  .is_list = arg.is_list,
                                  .is_optional = arg.is_optional,
                                  .optional_elements = arg.optional_elements});
    use.sources.push_back(static_cast<int>(i));
  }
  for (std::size_t i : renewed_arguments(def)) {
    use.signature.args[i].is_written = true;
    --use.signature.result_count;
  }
  return use;
}

}  // namespace

Result<const KernelUse*> MethodPlanner::kernel_use(const Node& node, const OpDef& def) {
  auto known = kernel_uses_.find(node.op());
  if (known != kernel_uses_.end()) return &known->second;
  FoundKernel found = find_kernel(def.out_name);
  if (!found && def.origin == OpOrigin::Backend) {
    needed_.own_kernels.insert(def.out_name);
    KernelUse use = own_kernel_use(def, operator_index(def.out_name));
    return &kernel_uses_.emplace(node.op(), std::move(use)).first->second;
  }
  if (!found) return has_no_kernel(node);
  if (!found.shipped_in->python_module.empty())
    needed_.python_modules.emplace(found.shipped_in->python_module);
  KernelUse use{operator_index(found.kernel->name), parse_signature(*found.kernel), {}};
  for (std::size_t i = 0; i < use.signature.args.size(); ++i) {
    bool by_name = use.signature.result != KernelResult::Value;
    int source = by_name ? def.arg_index(Symbol(use.signature.args[i].name)) : static_cast<int>(i);
    const bool is_there = source >= 0 && source < static_cast<int>(def.args.size());
    if (!is_there && def.origin == OpOrigin::Backend) {
      return fail(&node, fmt::format("{} has no argument {}, which {} takes", node.op().str(),
                                     use.signature.args[i].name, def.out_name));
    }
    CHECK(is_there) << def.name.str() << " has no argument " << use.signature.args[i].name << " for "
                    << def.out_name;
    use.sources.push_back(source);
  }
  return &kernel_uses_.emplace(node.op(), std::move(use)).first->second;
}

Status MethodPlanner::plan_kernel_call(const Node& node, const OpDef& def) {
  TRY(const KernelUse* use, kernel_use(node, def));
  OpCall call(node);
  if (auto reason = refused_by_kernel(call))
    return fail(&node, *reason, "choose a backend that takes it, or write the model without it");
  const auto contents =
      static_cast<std::size_t>(std::ranges::count_if(use->signature.args, &KernelArg::is_written));
  if (node.results().size() < contents)
    return fail(&node, fmt::format("{} has too few results", node.op().str()));
  std::size_t content = node.results().size() - contents;  // they follow the other results
  const auto results = node.results().first(content);
  std::vector<std::int32_t> args;
  for (std::size_t i = 0; i < use->sources.size(); ++i) {
    const KernelArg& arg = use->signature.args[i];
    const Argument& given = call[static_cast<std::size_t>(use->sources[i])];
    TRY(std::int32_t index, argument(node, arg, given));
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
    bool is_number = use.signature.result == KernelResult::Value;
    if (value->type().is_tensor() == is_number || (is_number && value->type().kind == Type::Kind::None)) {
      return fail(&node, fmt::format("%{}: {} does not give a {}", value->name().str(), node.op().str(),
                                     str(value->type())));
    }
    results.push_back(add_result(*value));
  }
  bool is_list = use.signature.result == KernelResult::TensorList;
  if (!is_list && results.size() != use.signature.result_count) {
    return fail(&node, fmt::format("{} has {} results, its kernel has {}", node.op().str(), results.size(),
                                   use.signature.result_count));
  }
  if (is_list) results = {pool_.tensor_list(results, false)};
  for (std::int64_t result : results) args.push_back(static_cast<std::int32_t>(result));
  if (use.signature.result == KernelResult::Value) return {};
  // A separate value: a kernel that returns something would otherwise overwrite the shared None.
  args.push_back(results.empty() ? pool_.add(EValue{}) : static_cast<std::int32_t>(results.front()));
  return {};
}

Result<std::int32_t> MethodPlanner::argument(const Node& node, const KernelArg& arg, const Argument& value) {
  if (value.is_value()) {
    const InputSpec* spec = input_spec(method_, *value.as_value());
    // A number that the user's call fixed is treated as a literal, so that it gets the kernel's kind.
    if (spec != nullptr && spec->constant) return argument(node, arg, *spec->constant);
  }
  if (value.is_none()) {
    if (arg.is_optional) return pool_.null();
    return fail(&node, fmt::format("{}: argument {} must not be None", node.op().str(), arg.name));
  }
  return arg.is_list ? list_argument(node, arg, value) : single_argument(node, arg, value);
}

Result<std::int32_t> MethodPlanner::list_argument(const Node& node, const KernelArg& arg,
                                                  const Argument& value) {
  if (arg.type == ArgType::Tensor) return tensor_list(node, arg, value);
  if (arg.type == ArgType::Int) {
    std::vector<std::int64_t> items;
    KernelArg element{arg.name, ArgType::Int};
    auto elements = value.is_list() ? std::span<const Argument>(value.as_list()) : std::span(&value, 1);
    for (const Argument& item : elements) {
      TRY(std::int32_t index, argument(node, element, item));
      items.push_back(index);
    }
    return pool_.int_list(items);
  }
  return number_list(node, arg, value);
}

Result<std::int32_t> MethodPlanner::tensor_list(const Node& node, const KernelArg& arg,
                                                const Argument& value) {
  if (!value.is_list()) return fail(&node, unfit(node, arg));
  std::vector<std::int64_t> items;
  for (const Argument& item : value.as_list()) {
    if (item.is_none() && arg.optional_elements) {
      items.push_back(-1);
      continue;
    }
    KernelArg element{arg.name, ArgType::Tensor};
    TRY(std::int32_t index, argument(node, element, item));
    items.push_back(index);
  }
  return pool_.tensor_list(items, arg.optional_elements);
}

// Floats and bools are stored in the list itself, so they must be known now.
Result<std::int32_t> MethodPlanner::number_list(const Node& node, const KernelArg& arg,
                                                const Argument& value) {
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

Result<std::int32_t> MethodPlanner::single_argument(const Node& node, const KernelArg& arg,
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

Result<std::int32_t> MethodPlanner::value_argument(const Node& node, const KernelArg& arg,
                                                   const Value& value) {
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
