// Partitioner: assigns nodes to backends by tagging them. Names are those of ExecuTorch.
//
// A partitioner reads a Method of a Program and returns a PartitionResult: a tag per node and, for each tag,
// the DelegationSpec of its backend. Nodes with the same tag become one delegate. A partitioner never edits
// the program. Each node finally has exactly one Verdict, which explains why it was or was not delegated.
//
// docs/partitioners.md lists the ready-made partitioners.
#pragma once

#include <optional>

#include "depute/backend/ops_to_not_decompose.h"
#include "depute/backend/partition_result.h"
#include "depute/backend/proposal.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

class Partitioner {
 public:
  virtual ~Partitioner() = default;
  // Returns the ops that normalization must leave whole until this partitioner has run.
  virtual OpsToNotDecompose ops_to_not_decompose(const Program& program) const {
    (void)program;
    return {};
  }
  // Returns a tag per node and the reasons for the other nodes. Must be deterministic; must not change the
  // program.
  virtual Result<PartitionResult> partition(const Program& program, const Method& method) const = 0;

  // Returns the proposal from which partition() makes its result, or nullopt if the partitioner works
  // differently. Partitioners with a proposal can be combined by plan_together().
  virtual Result<std::optional<Proposal>> proposal(const Program& program, const Method& method) const {
    (void)program;
    (void)method;
    return std::nullopt;
  }

  // True if partition() runs in another process, on a copy. It cannot modify the program, so to_backend()
  // does not check.
  virtual bool is_remote() const { return false; }
};

}  // namespace depute

#pragma GCC visibility pop
