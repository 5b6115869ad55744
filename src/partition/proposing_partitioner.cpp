#include "depute/backend/proposing_partitioner.h"

#include "depute/backend/propose_partitions.h"
#include "support/try.h"

namespace depute {

Result<PartitionResult> ProposingPartitioner::partition(const Program& program, const Method& method) const {
  TRY(Proposal wishes, propose(program, method));
  return propose_partitions(program, method, wishes);
}

Result<std::optional<Proposal>> ProposingPartitioner::proposal(const Program& program,
                                                               const Method& method) const {
  TRY(Proposal wishes, propose(program, method));
  return wishes;
}

}  // namespace depute
