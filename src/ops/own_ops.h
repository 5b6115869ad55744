// Ops of the compiler that appear in programs between its steps. The ops of flat methods are in
// control_ops.h.
//
//   %y = delegate.call(@xnnpack0, %x, 2)    runs the delegate xnnpack0 with %x and 2
//   %y = depute.masked(%x)                  stands for a node hidden from a partitioner (masked_program.h)
//   %y = depute.masked_effect(%x)           stands for a hidden node with effects (effects.h)
//
// An input program may call delegates that it contains; it may not use the other ops.
#pragma once

#include <string_view>

#include "depute/program/program.h"
#include "depute/program/result.h"
#include "ir/delegate_state.h"

namespace depute {

// Torch's name for a call of a delegate.
inline constexpr std::string_view torch_delegate_call = "higher_order.executorch_call_delegate";

Name delegate_call_symbol();
bool is_delegate_call(const Node& node);
Name masked_symbol(bool has_effects);
bool is_masked(const Node& node);

// Fails for a call that does not match the delegate. If the delegate's program is known, the operands must be
// its inputs without data, and the results its outputs that are not stored. The message starts with the
// reason.
Status check_delegate_call(const Node& call, const Delegate& delegate);

}  // namespace depute
