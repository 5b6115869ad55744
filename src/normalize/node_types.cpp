#include "normalize/node_types.h"

#include "depute/program/infer.h"
#include "normalize/pass_error.h"

namespace depute {
namespace {

bool has_symbolic_sizes(const Node& node) {
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Type& type = node.operand(i)->type();
    if (!type.is_tensor() || !type.tensor.is_static()) return true;
  }
  return false;
}

}  // namespace

Result<std::optional<std::vector<Type>>> node_types(const Node& node) {
  auto types = result_types(OpCall(node));
  if (types) return std::optional(std::move(*types));
  if (!has_symbolic_sizes(node) || types.error().code == bad_argument)
    return node_error(node, types.error().message);
  return std::optional<std::vector<Type>>();
}

}  // namespace depute
