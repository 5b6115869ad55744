// Programs for the search of a fault: one that also returns what its nodes compute, and one that is a body of control flow.
//
//   %a = delegate.call(@d0, %x)          %a = delegate.call(@d0, %x)
//   %b = aten.tan.default(%a)       ->   %b = aten.tan.default(%a)
//   return %b                            return %b, %a
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/program.h"

namespace depute {

// A tensor that a node computes.
struct ExposedTensor {
  std::size_t output = 0;  // index among the user outputs
  const Value* value = nullptr;
};

// In the order of the nodes. Numbers are not exposed.
std::vector<ExposedTensor> expose_tensors(Method& method);

// A program whose only method, with this one's name, is the body in the argument `argument` of the node with the result `result`.
Program body_program(const Program& program, std::string_view method, std::string_view result,
                     std::size_t argument);

}  // namespace depute
