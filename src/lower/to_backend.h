// to_backend: hands the parts of a program that a partitioner chose to their backends.
//
// The input program is not changed: the result is a new program that shares its data, with one delegate.call
// per partition and one Delegate per call. A failed call leaves no trace. Numbering and order: partitions of
// a method in the order of their calls, methods in program order; all partitions of one backend are
// preprocessed together, in parallel.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "lower/registry.h"
#include "partition/partitioner.h"
#include "support/result.h"

namespace depute {

struct ToBackendOptions {
  int jobs = 1;
};

// A node's verdict as data, so that it outlives the graph it was given on.
struct NodeVerdict {
  Symbol method;
  Symbol node;  // its first result's name, as in the normalised program
  Symbol op;
  std::string source;  // "model.py:12 (features.0)"
  Symbol delegate;     // name of the delegate that took it; empty when none
  Verdict verdict;
};

struct Lowered {
  Program program;
  std::vector<NodeVerdict> verdicts;  // of every node the partitioner looked at, in method and node order
};

// Every method through one partitioner.
Result<Lowered> to_backend(const Program& program, const Partitioner& partitioner, const Registry& registry,
                           const ToBackendOptions& options = {});

// A whole program (of one method) as one delegate of `backend_id`, without a partitioner: ExecuTorch's
// LoweredBackendModule.
Result<Delegate> to_backend(std::string_view backend_id, const Program& program,
                            const std::vector<CompileSpec>& compile_specs, const Registry& registry);

}  // namespace depute
