#include "depute/program/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "depute/program/op.h"
#include "kernels/kernel_call.h"
#include "support/try.h"

namespace depute {
namespace {

using internal::KernelFunction;
using internal::KernelLine;

using KernelMap = std::unordered_map<Name, KernelFunction>;

KernelMap make_kernels() {
  KernelMap kernels;
#define DEPUTE_ADD_KERNELS(family) \
  for (const KernelLine& line : internal::family##_kernels()) kernels.emplace(Name(line.op), line.run);
  DEPUTE_KERNEL_FAMILIES(DEPUTE_ADD_KERNELS)
#undef DEPUTE_ADD_KERNELS
  return kernels;
}

// Returns null if there is no kernel. The copy variant of a view uses the view's kernel.
KernelFunction find_kernel(const OpDef& def) {
  static const KernelMap kernels = make_kernels();
  auto found = kernels.find(def.name);
  if (found == kernels.end() && !def.functional.empty() && !def.mutates()) {
    found = kernels.find(def.functional);
  }
  return found == kernels.end() ? nullptr : found->second;
}

Failure at_node(const Node& node, const Diagnostic& diagnostic) {
  return node_failure(node, diagnostic.code, fmt::format("{}: {}", node.op().str(), diagnostic.message),
                      diagnostic.hint);
}
Failure at_node(const Node& node, std::string message) {
  return at_node(node, Diagnostic{.code = "kernel", .message = std::move(message)});
}

Status check_operands(const Node& node, const RuntimeValueOf& content_of) {
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Value& operand = *node.operand(i);
    const RuntimeValue* content = content_of(operand);
    if (content == nullptr) return at_node(node, fmt::format("%{} has no value", operand.name().str()));
    if (!fits_type(*content, operand.type())) {
      return at_node(node, fmt::format("%{} must have type {}", operand.name().str(), str(operand.type())));
    }
    const auto* data = std::get_if<TensorData>(content);
    if (data != nullptr && !internal::checked_count(internal::sizes_of(*data))) {
      return at_node(node, fmt::format("%{} has too many elements", operand.name().str()));
    }
    if (data != nullptr && data->storage->is_elided()) {
      return at_node(node, fmt::format("the data of %{} is elided", operand.name().str()));
    }
  }
  return {};
}

bool has_complex_number(const OpCall& call) {
  return std::ranges::any_of(call.args(),
                             [](const Argument& a) { return a.kind == Argument::Kind::Complex; });
}

// Returns the result types of the op's rule; for an op without a rule, the types in the graph.
Result<std::vector<Type>> result_types(const Node& node, const OpCall& call) {
  std::vector<Type> types;
  if (call.def().infer != nullptr) {
    TRY(types, call.def().infer(call));
  } else {
    for (const Value* result : node.results()) types.push_back(result->type());
  }
  if (types.size() != node.results().size()) {
    return internal::bad_arguments(
        fmt::format("got {} results; expected {}", node.results().size(), types.size()));
  }
  return types;
}

bool fits_tensor(const TensorData& data, const TensorType& type) {
  if (data.type.dtype != type.dtype || data.type.rank() != type.rank()) return false;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    if (type.sizes[i].is_constant() && type.sizes[i] != data.type.sizes[i]) return false;
  }
  return true;
}

}  // namespace

bool has_kernel(Name op) {
  const OpDef* def = torch_ops()->find(op);
  return def != nullptr && find_kernel(*def) != nullptr;
}

bool fits_type(const RuntimeValue& content, const Type& type) {
  switch (type.kind) {
    case Type::Kind::Tensor: {
      const auto* data = std::get_if<TensorData>(&content);
      return data != nullptr && fits_tensor(*data, type.tensor);
    }
    case Type::Kind::SymInt:
    case Type::Kind::Int:
      return std::holds_alternative<std::int64_t>(content);
    case Type::Kind::SymFloat:
    case Type::Kind::Float:
      return std::holds_alternative<double>(content);
    case Type::Kind::SymBool:
    case Type::Kind::Bool:
      return std::holds_alternative<bool>(content);
    case Type::Kind::None:
    case Type::Kind::CustomObj:
    case Type::Kind::Token:
    case Type::Kind::String:
      return std::holds_alternative<std::monostate>(content);
  }
  return false;
}

Result<std::vector<RuntimeValue>> run_kernel(const Node& node, const RuntimeValueOf& content_of) {
  const OpDef* def = node.def();
  KernelFunction kernel = def == nullptr ? nullptr : find_kernel(*def);
  if (kernel == nullptr) return at_node(node, "no reference kernel exists for this op");
  TRY_STATUS(check_call(node));
  TRY_STATUS(check_operands(node, content_of));
  OpCall call(node);
  if (has_complex_number(call))
    return at_node(node, "complex numbers are not supported by the reference kernels");
  auto types = result_types(node, call);
  if (!types) return at_node(node, std::move(types).error());
  auto results = kernel(internal::KernelCall(call, *types, content_of));
  if (!results) return at_node(node, std::move(results).error());
  if (results->size() != node.results().size()) {
    return at_node(node, fmt::format("computes {} results", results->size()));
  }
  for (std::size_t i = 0; i < results->size(); ++i) {
    const Value& value = *node.result(i);
    if (fits_type((*results)[i], value.type())) continue;
    const auto* data = std::get_if<TensorData>(&(*results)[i]);
    return at_node(node, fmt::format("computes {}, but the graph declares {}",
                                     data != nullptr ? str(data->type) : "a number", str(value.type())));
  }
  return results;
}

}  // namespace depute
