#include "plan/control_ops.h"

#include <array>
#include <unordered_map>

namespace depute {
namespace {

constexpr std::array<const char*, 12> names = {"",
                                               "control.variable",
                                               "control.set",
                                               "control.set_item",
                                               "control.resize",
                                               "control.copy",
                                               "control.if",
                                               "control.else",
                                               "control.end_if",
                                               "control.loop",
                                               "control.leave_unless",
                                               "control.end_loop"};

}  // namespace

ControlOp control_op(const Node& node) {
  static const std::unordered_map<Symbol, ControlOp> ops = [] {
    std::unordered_map<Symbol, ControlOp> map;
    for (std::size_t i = 1; i < names.size(); ++i) map.emplace(Symbol(names[i]), static_cast<ControlOp>(i));
    return map;
  }();
  auto found = ops.find(node.op());
  return found == ops.end() ? ControlOp::None : found->second;
}

Symbol control_symbol(ControlOp op) {
  return Symbol(names[static_cast<std::size_t>(op)]);
}

bool writes_variable(const Node& node) {
  ControlOp op = control_op(node);
  return op == ControlOp::Set || op == ControlOp::SetItem || op == ControlOp::Resize;
}

}  // namespace depute
