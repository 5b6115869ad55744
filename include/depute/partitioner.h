// Partitioner: decides which nodes go to which backend, by tagging them. The names are ExecuTorch's.
//
// A partitioner sees a Method of a Program and returns a PartitionResult: a tag per node and, per tag, the
// DelegationSpec of the backend that takes it. Nodes with one tag become one delegate. A partitioner never
// edits the program: tags are given beside it. Every node ends with exactly one Verdict, so that no one has
// to guess why an op was not delegated.
//
// docs/partitioners.md has the partitioners that are ready to use.
#pragma once

#include <optional>

#include "depute/ops_to_not_decompose.h"
#include "depute/partition_result.h"
#include "depute/program.h"
#include "depute/proposal.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

class Partitioner {
 public:
  virtual ~Partitioner() = default;
  virtual OpsToNotDecompose ops_to_not_decompose(const Program& program) const {
    (void)program;
    return {};
  }
  virtual Result<PartitionResult> partition(const Program& program, const Method& method) const = 0;

  // The proposal of which partition() is the result, if that is how the partitioner works. Such partitioners
  // can be planned together with others (plan_together.h).
  virtual Result<std::optional<Proposal>> proposal(const Program& program, const Method& method) const {
    (void)program;
    (void)method;
    return std::nullopt;
  }

  // True for one that asks another process, which has copies of what it is told of: it cannot change the
  // program, which is therefore not looked through to see that.
  virtual bool asks_elsewhere() const { return false; }
};

}  // namespace depute

#pragma GCC visibility pop
