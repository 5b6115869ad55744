// Ops that replace control flow in a flat method (flatten.h). Most only mark where execution continues.
//
//   %v = control.variable()             declares a variable without content
//   control.set(%v, %x)                 assigns %x
//   control.set_item(%v, %i, %x)        assigns %x to the element %i along the first dimension
//   control.resize(%v, [%n, 3])         makes it a tensor of these sizes with undefined content
//   %y = control.copy(%x)               copies %x into memory of its own
//   control.if(%p)  control.else()  control.end_if()
//   control.loop()  control.leave_unless(%p)  control.end_loop(%p)      repeats unless %p holds at the end
#pragma once

#include <cstdint>

#include "depute/program/graph.h"

namespace depute {

enum class ControlOp : std::uint8_t {
  None,
  Variable,
  Set,
  SetItem,
  Resize,
  Copy,
  If,
  Else,
  EndIf,
  Loop,
  LeaveUnless,
  EndLoop,
};

ControlOp control_op(const Node& node);  // None for all other nodes
Name control_symbol(ControlOp op);
// True if the node writes its first argument, a variable.
bool writes_variable(const Node& node);

}  // namespace depute
