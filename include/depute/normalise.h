// Brings a program as torch.export wrote it (training IR, Core ATen or Edge) to the one form that the rest of
// the compiler knows: functional, decomposed to core ops, element types explicit, tensors contiguous,
// constants folded, nothing unused.
//
//   %c = aten.conv2d.default(%x, %w, %b)             %c = aten.convolution.default(%x, %w, %b, [1, 1], ...)
//   %r = aten.relu_.default(%c)               ->     %r = aten.relu.default(%c)
//   %d = aten.dropout.default(%r, 0.5, false)        return %r
//   return %d
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "depute/ops_to_not_decompose.h"
#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

// Called after a step, with its name and the program that it gave.
using ObserveStep = std::function<void(std::string_view step, const Program& program)>;

struct NormaliseOptions {
  std::vector<OpsToNotDecompose> ops_to_not_decompose;
  // Core ops are written as ExecuTorch's Edge dialect has them, a linear layer as a permute and an addmm, for
  // partitioners that look for those; what ops_to_not_decompose names stays whole.
  bool edge_forms = false;
  bool verify = false;    // check all invariants after each pass
  bool verified = false;  // verify_input() has passed the program
  ObserveStep observe;    // of each pass
};

// Takes any program; one that verify_input() refuses is refused.
Result<Program> normalise(Program program, const NormaliseOptions& options = {});

// The same for what backends left over: ops kept whole for a partitioner that did not take them are
// decomposed now.
Result<Program> normalise_leftovers(Program program, const NormaliseOptions& options = {});

}  // namespace depute

#pragma GCC visibility pop
