// Control flow whose bodies write to operands: what these become are further results.
//
//   %y = higher_order.cond(%p, @yes, @no, [%b, %x])           %y, %b_1 = higher_order.cond(%p, @yes, @no,
//   [%b, %x]) graph @yes(%b, %x) { aten.add_.Tensor(%b, %x) ...   ->    graph @yes(%b, %x) { %n =
//   aten.add.Tensor(%b, %x) ...
//     return %x }                                               return %x, %n }
//   graph @no(%b, %x) { return %x }                           graph @no(%b, %x) { return %x, %b }
//
// A while_loop carries them from turn to turn.
#pragma once

#include <vector>

#include "depute/graph.h"
#include "depute/result.h"
#include "ops/control_flow.h"

namespace depute {

// Which inputs of the node's body number `body` may be written, from this one on: the operands, but not in
// what a loop does more or less often than the others see.
std::size_t first_writable_input(const ControlFlow& flow, std::size_t body);

// What a body has at its end in the place of its inputs; null where it was not written.
using InputContents = std::vector<Value*>;

// Puts a node with further results in front of `node`, which is left without uses; null when nothing was
// written. `operands` gets the numbers of the operands that were, of which the last results are the contents.
Node* give_contents(Graph& graph, Node& node, const ControlFlow& flow,
                    const std::vector<InputContents>& contents, std::vector<std::size_t>& operands);

}  // namespace depute
