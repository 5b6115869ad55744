// Flattens a method with control flow into one list of nodes. The nodes of a body replace the node that runs
// it, between marks that say where execution continues (control_ops.h).
//
//   %y = higher_order.cond(%p, @yes, @no, [%x])           %y = control.variable()
//   graph @yes(%a) { %s = aten.sin.default(%a)            control.if(%p)
//     return %s }                                           %"yes.s" = aten.sin.default(%x)
//   graph @no(%a) { return %a }                     ->      control.set(%y, %"yes.s")
//                                                         control.else()
//                                                           control.set(%y, %x)
//                                                         control.end_if()
//
// Carried values of loops become variables; map and scan count along dimension 0. Operands replace the inputs
// of bodies, so a node of a body reads variables like any other value.
#pragma once

#include <memory>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Upper bound on inlined nodes; the runtime executes as many instructions in one call.
inline constexpr std::size_t max_flat_nodes = 10'000'000;

struct FlatMethod {
  std::unique_ptr<Method> method;    // null without control flow: the method is already flat
  std::vector<const Node*> origins;  // by node id of `method`: the node that it replaces or comes from
};

Result<FlatMethod> flatten(const Program& program, const Method& method);

}  // namespace depute
