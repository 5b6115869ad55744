// Takes the tags that the program already carries (`!tag` in the text form): partitions drawn by hand. A
// tagged control-flow node goes with its bodies; in the bodies of others, tags count as anywhere.
#pragma once

#include "depute/partitioner.h"

#pragma GCC visibility push(default)

namespace depute {

class TaggedPartitioner : public Partitioner {
 public:
  // Every tag becomes a partition with this spec; a constant moves with each tag that uses it.
  explicit TaggedPartitioner(DelegationSpec spec) : spec_(std::move(spec)) {}
  Result<PartitionResult> partition(const Program& program, const Method& method) const override;

 private:
  DelegationSpec spec_;
};

}  // namespace depute

#pragma GCC visibility pop
