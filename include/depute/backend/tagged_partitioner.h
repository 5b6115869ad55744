// TaggedPartitioner: makes partitions from the tags in the program (`!tag` in the text form), for hand-drawn
// partitions. A tagged control-flow node includes its bodies; in other bodies, tags apply as in any graph.
#pragma once

#include "depute/backend/partitioner.h"

#pragma GCC visibility push(default)

namespace depute {

class TaggedPartitioner : public Partitioner {
 public:
  // Each tag becomes a partition with this spec. A constant moves into each tag that uses it.
  explicit TaggedPartitioner(DelegationSpec spec) : spec_(std::move(spec)) {}
  Result<PartitionResult> partition(const Program& program, const Method& method) const override;

 private:
  DelegationSpec spec_;
};

}  // namespace depute

#pragma GCC visibility pop
