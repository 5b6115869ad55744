// Makes bodies of control flow that write to operands functional: the new contents become additional results.
//
//   %y = higher_order.cond(%p, @yes, @no, [%b, %x])     %y, %b_1 = higher_order.cond(%p, @yes, @no, [%b, %x])
//   graph @yes(%b, %x) { aten.add_.Tensor(%b, %x)   ->  graph @yes(%b, %x) { %n = aten.add.Tensor(%b, %x)
//     return %x }                                         return %x, %n }
//   graph @no(%b, %x) { return %x }                     graph @no(%b, %x) { return %x, %b }
//
// A while_loop carries them from iteration to iteration.
#pragma once

#include <vector>

#include "depute/program/graph.h"
#include "depute/program/result.h"
#include "ops/control/control_flow.h"

namespace depute {

// Returns the index of the first writable input of the body with number `body`. Operands are writable in
// branches of a cond and in the body of a while_loop, no inputs elsewhere.
std::size_t first_writable_input(const ControlFlow& flow, std::size_t body);

// The final contents of a body's inputs; null for inputs that the body does not write.
using InputContents = std::vector<Value*>;

// Inserts a node with additional results before `node`, whose uses move to the new node. Returns null if no
// operand is written. Sets `operands` to the numbers of the written operands; the last results are their
// contents.
Node* give_contents(Graph& graph, Node& node, const ControlFlow& flow,
                    const std::vector<InputContents>& contents, std::vector<std::size_t>& operands);

}  // namespace depute
