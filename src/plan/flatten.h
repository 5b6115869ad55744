// Makes one straight list of nodes of a method with control flow: what its bodies do stands in the place of
// the node that runs them, between marks that say where to go on (control_ops.h).
//
//   %y = higher_order.cond(%p, @yes, @no, [%x])           %y = control.variable()
//   graph @yes(%a) { %s = aten.sin(%a) return %s }        control.if(%p)
//   graph @no(%a) { return %a }                             %yes.s = aten.sin(%x)
//                                                   ->      control.set(%y, %yes.s)
//                                                         control.else()
//                                                           control.set(%y, %x)
//                                                         control.end_if()
//
// What loops carry are variables; map and scan count in one and go along dimension 0. Operands take the place
// of the bodies' inputs, so a body reads and a variable holds what any other node would.
#pragma once

#include <memory>
#include <vector>

#include "depute/program.h"
#include "depute/result.h"

namespace depute {

// Bodies are inlined up to this many nodes: as many instructions the runtime executes in a call.
inline constexpr std::size_t max_flat_nodes = 10'000'000;

struct FlatMethod {
  std::unique_ptr<Method> method;    // null for one without control flow, which is flat already
  std::vector<const Node*> origins;  // by id of its nodes, the node that each stands for or comes from
};

Result<FlatMethod> flatten(const Program& program, const Method& method);

}  // namespace depute
