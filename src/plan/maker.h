// Finds the node of the model that computes a value, also inside of a delegate.
//
//   %y = delegate.call(@d0, %x)     ->  the node of @d0 whose result is %y
#pragma once

#include "depute/program/program.h"

namespace depute {

// Null if unknown, and for inputs of a method.
const Node* maker_of(const Program& program, const Value& value);

}  // namespace depute
