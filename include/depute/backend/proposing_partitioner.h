// Base class of most partitioners: makes a proposal per method, which propose_partitions() turns into
// partitions.
#pragma once

#include "depute/backend/partitioner.h"

#pragma GCC visibility push(default)

namespace depute {

class ProposingPartitioner : public Partitioner {
 public:
  Result<PartitionResult> partition(const Program& program, const Method& method) const override;
  Result<std::optional<Proposal>> proposal(const Program& program, const Method& method) const override;

 protected:
  // Returns the proposal for one method.
  virtual Result<Proposal> propose(const Program& program, const Method& method) const = 0;
};

}  // namespace depute

#pragma GCC visibility pop
