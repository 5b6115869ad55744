// What most partitioners are: a proposal per method, made into partitions by propose_partitions.
#pragma once

#include "depute/partitioner.h"

#pragma GCC visibility push(default)

namespace depute {

class ProposingPartitioner : public Partitioner {
 public:
  Result<PartitionResult> partition(const Program& program, const Method& method) const override;
  Result<std::optional<Proposal>> proposal(const Program& program, const Method& method) const override;

 protected:
  virtual Result<Proposal> propose(const Program& program, const Method& method) const = 0;
};

}  // namespace depute

#pragma GCC visibility pop
