// Normalizes a program from torch.export (training IR, Core ATen or Edge). Normalized programs are functional
// and decomposed to core ops. Element types are explicit, tensors are contiguous, constants are folded, and
// all nodes are used.
//
//   %c = aten.conv2d.default(%x, %w, %b)             %c = aten.convolution.default(%x, %w, %b, [1, 1], ...)
//   %r = aten.relu_.default(%c)               ->     %r = aten.relu.default(%c)
//   %d = aten.dropout.default(%r, 0.5, false)        return %r
//   return %d
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/program/op.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Called after a step, with its name and the program that it gave.
using ObserveStep = std::function<void(std::string_view step, const Program& program)>;

struct NormalizeOptions {
  std::vector<OpsToNotDecompose> ops_to_not_decompose;
  // Write core ops as in ExecuTorch's Edge dialect, for partitioners that match its forms: a linear layer
  // becomes a permute and an addmm. Ops in ops_to_not_decompose stay whole.
  bool edge_forms = false;
  bool verify = false;  // check all invariants after each pass
  ObserveStep observe;  // of each pass
};

// Normalizes any program. Fails if verify_input() rejects it.
DEPUTE_API Result<Program> normalize(Program program, const NormalizeOptions& options = {});

// Normalizes undelegated nodes after partitioning: also decomposes ops that were kept whole for a partitioner
// that did not take them.
DEPUTE_API Result<Program> normalize_undelegated(Program program, const NormalizeOptions& options = {});

}  // namespace depute
