// Where an instruction that is made for a value, not for a node, comes from.
#pragma once

#include <cstdint>

#include "ir/program.h"

namespace depute {

// The handle of the node that makes the value; for a delegate's result, of the node inside of it. 0: none.
std::uint32_t debug_handle_of(const Program& program, const Value& value);

}  // namespace depute
