// Writes a program with ops that can be computed with integers: products, sums and functions of one operand, each of
// which has a scale.
//
//   %p = aten._softmax.default(%x, -1, false)
//     ->
//   %h = aten.amax.default(%x, [-1], true)
//   %s = aten.sub.Tensor(%x, %h)
//   %e = aten.exp.default(%s)
//   %t = aten.sum.dim_IntList(%e, [-1], true)
//   %r = aten.reciprocal.default(%t)
//   %p = aten.mul.Tensor(%e, %r)
#pragma once

#include <functional>

#include "depute/program/program.h"

namespace depute {

// Normalizes the program, with layers, pooling and functions of one operand as they are.
Status write_core_ops(Program& program, const std::function<bool(const Node&)>& chooses);

// Writes what is left of composed ops, such as softmax and norms, once batch norms are part of layers. Only nodes that
// `chooses` accepts are written anew.
Status write_integer_forms(Program& program, const std::function<bool(const Node&)>& chooses);

}  // namespace depute
