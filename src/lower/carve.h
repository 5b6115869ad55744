// Moves tagged nodes of a method into programs of their own, all tags in one pass: O(nodes + edges) for any
// number of tags.
//
//   %a = conv(%x, %w) !t0                %t0 = delegate.call(@t0, %x)      and the subprogram of t0:
//   %b = relu(%a) !t0              ->    %c = tan(%t0)                     %a = conv(%x, %w)
//   %c = tan(%b)                         return %c                         %b = relu(%a)
//   return %c                                                              return %b
//
// Builds a new method; the old one is not edited. Nodes keep their order as far as the delegates allow. A
// dependency cycle through nodes outside a partition is an error that shows the path. Control-flow bodies are
// carved like the method's own graph; bodies of a tagged node move along with it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "depute/backend/partitioner.h"
#include "depute/program/program.h"
#include "depute/program/result.h"
#include "ops/effects.h"

namespace depute {

// One partition as a separate program.
struct CarvedPartition {
  Name tag;
  Name delegate_name;
  DelegationSpec spec;
  // Has one method, "forward". Inputs: parameters, buffers and constants that moved in, then the call's
  // arguments. Outputs: mutations of buffers that moved in, then the call's results.
  std::shared_ptr<Program> program;
  const Graph* graph = nullptr;  // graph of the old method that contained the nodes
  Node* call = nullptr;          // in the carved method
};

struct CarvedMethod {
  std::unique_ptr<Method> method;  // with one delegate.call per partition
  std::vector<CarvedPartition>
      partitions;  // the method's own graph first, then bodies; within a graph in call order
};

// The element type in which tensors of `type` cross the border of a delegate (Backend::border_type()).
using BorderType = std::function<ScalarType(const DelegationSpec& spec, ScalarType type)>;

// `effects` describes the program's nodes. `delegate_name` returns a name for a tag's delegate that is unique
// in the program. Skips tags without nodes, and partitions without used results, buffer mutations and
// effects.
Result<CarvedMethod> carve(const Program& program, const Effects& effects, const Method& method,
                           const PartitionResult& partitions,
                           const std::function<Name(Name tag)>& delegate_name, const BorderType& border_type);

}  // namespace depute
