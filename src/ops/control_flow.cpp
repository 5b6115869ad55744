// Ops that run graphs. Their types are those the file gives; normalisation works inside the bodies.
#include "ops/op_table.h"

namespace depute::internal {

std::span<const OpLine> control_flow_ops() {
  static constexpr OpLine lines[] = {
      {"higher_order.cond(Any pred, Graph true_graph, Graph false_graph, Any operands) -> Any",
       opaque(core | control_flow)},
      {"higher_order.while_loop(Graph cond, Graph body, Any carried, Any additional) -> Any",
       opaque(core | control_flow)},
      {"higher_order.map_impl(Graph body, Any mapped, Any additional) -> Any", opaque(core | control_flow)},
      {"higher_order.scan(Graph combine, Any init, Any xs, Any additional) -> Any",
       opaque(core | control_flow)},
  };
  return lines;
}

}  // namespace depute::internal
