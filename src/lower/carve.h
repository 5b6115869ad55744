// Cuts the tagged parts out of a method, all tags in one pass: O(nodes + edges), whatever the number of tags.
//
//   %a = conv(%x, %w) !t0                      %t0 = delegate.call(@t0, %x)
//   %b = relu(%a)     !t0          ->          %c = tan(%t0)                    and the subprogram of t0:
//   %c = tan(%b)                               return %c                        (%w, %x) { conv, relu, return
//   return %c                                                                    %b }
//
// The method is not edited: a new one is built. Nodes keep their order as far as the delegates allow; a
// dependency cycle through nodes outside of a partition is refused with its path. Control-flow bodies are cut
// like the method's own graph, but for those of nodes that are taken whole, which move along.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "depute/partitioner.h"
#include "depute/program.h"
#include "depute/result.h"
#include "ops/effects.h"

namespace depute {

// One partition as a program of its own.
struct CarvedPartition {
  Symbol tag;
  Symbol delegate_name;
  DelegationSpec spec;
  // One method, "forward". Inputs: parameters, buffers and constants that moved in, then the call's
  // arguments. Outputs: mutations of buffers that moved in, then the call's results.
  std::shared_ptr<Program> program;
  const Graph* graph = nullptr;  // of the old method: where the nodes lay
  Node* call = nullptr;          // in the carved method
};

struct CarvedMethod {
  std::unique_ptr<Method> method;  // with one delegate.call per partition
  std::vector<CarvedPartition>
      partitions;  // graph by graph (the method's own first), in the order of the calls
};

// `effects` are those of the program's nodes. `delegate_name` gives each tag's delegate a
// name that is unique in the program. A tag without nodes is skipped, and so is a partition that nobody
// needs: no result is used, no buffer changes, and no node does more than its results tell.
Result<CarvedMethod> carve(const Program& program, const Effects& effects, const Method& method,
                           const PartitionResult& partitions,
                           const std::function<Symbol(Symbol tag)>& delegate_name);

}  // namespace depute
