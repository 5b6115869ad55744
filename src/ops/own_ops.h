// Ops of the compiler's own that stand in programs between its steps. Those of flat methods are in
// control_ops.h.
//
//   %y = delegate.call(@xnnpack0, %x, 2)    what delegate xnnpack0 computes of the arguments
//   %y = depute.masked(%x)                  a node that a partitioner is not shown (masked_program.h), or
//   %y = depute.masked_effect(%x)           one that has effects (effects.h)
//
// A program from outside may have calls of delegates that it has itself, and none of the others.
#pragma once

#include <string_view>

#include "depute/program.h"
#include "depute/result.h"
#include "ir/delegate_state.h"

namespace depute {

// The name that torch has for a call of a delegate.
inline constexpr std::string_view torch_delegate_call = "higher_order.executorch_call_delegate";

Symbol delegate_call_symbol();
bool is_delegate_call(const Node& node);
Symbol masked_symbol(bool has_effects);
bool is_masked(const Node& node);

// Fails for a call that does not fit the delegate: its program, where it is known, takes what has no data of
// its own and gives what is not stored. The message starts with the reason.
Status check_delegate_call(const Node& call, const Delegate& delegate);

}  // namespace depute
