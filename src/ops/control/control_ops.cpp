#include "ops/control/control_ops.h"

#include <array>
#include <unordered_map>

#include "ops/op_table.h"
#include "ops/schema.h"

namespace depute {
namespace {

// In the order of ControlOp, without None.
constexpr std::array<internal::OpLine, 11> lines = {{
    {"control.variable() -> Any", internal::own_op()},
    {"control.set(Any variable, Any content) -> ()", internal::own_op()},
    {"control.set_item(Any variable, Any index, Any content) -> ()", internal::own_op()},
    {"control.resize(Any variable, Any sizes) -> ()", internal::own_op()},
    {"control.copy(Any self) -> Any", internal::own_op()},
    {"control.if(Any condition) -> ()", internal::own_op()},
    {"control.else() -> ()", internal::own_op()},
    {"control.end_if() -> ()", internal::own_op()},
    {"control.loop() -> ()", internal::own_op()},
    {"control.leave_unless(Any condition) -> ()", internal::own_op()},
    {"control.end_loop(Any condition) -> ()", internal::own_op()},
}};
static_assert(lines.size() == static_cast<std::size_t>(ControlOp::EndLoop));

}  // namespace

namespace internal {

std::span<const OpLine> control_ops() {
  return lines;
}

}  // namespace internal

ControlOp control_op(const Node& node) {
  static const std::unordered_map<Name, ControlOp> ops = [] {
    std::unordered_map<Name, ControlOp> map;
    for (std::size_t i = 0; i < lines.size(); ++i)
      map.emplace(Name(internal::schema_name(lines[i].schema)), static_cast<ControlOp>(i + 1));
    return map;
  }();
  auto found = ops.find(node.op());
  return found == ops.end() ? ControlOp::None : found->second;
}

Name control_symbol(ControlOp op) {
  return Name(internal::schema_name(lines[static_cast<std::size_t>(op) - 1].schema));
}

bool writes_variable(const Node& node) {
  ControlOp op = control_op(node);
  return op == ControlOp::Set || op == ControlOp::SetItem || op == ControlOp::Resize;
}

}  // namespace depute
