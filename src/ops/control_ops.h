// Ops that replace control flow in a flat method (flatten.h). Most only mark where execution continues.
//
//   control.variable() -> %v            a place that is written more than once; holds nothing yet
//   control.set(%v, %x)                 from here on it holds what %x holds
//   control.set_item(%v, %i, %x)        its element %i along the first dimension becomes %x
//   control.resize(%v, [%n, 3])         a tensor of these sizes, whose content does not matter
//   control.copy(%x) -> %y              in memory of its own
//   control.if(%p)  control.else()  control.end_if()
//   control.loop()  control.leave_unless(%p)  control.end_loop(%p)      repeats unless %p holds at the end
#pragma once

#include <cstdint>

#include "depute/graph.h"

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
Symbol control_symbol(ControlOp op);
// True if the node writes its first argument, a variable.
bool writes_variable(const Node& node);

}  // namespace depute
