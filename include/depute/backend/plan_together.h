// Partitions for several backends at once: one PartitionResult with the tags of all backends.
//
//   return plan_together(program, method, std::vector<Proposal>{gpu, cpu});
//
//   gpu0, cpu0, gpu1, ...: each node with the first backend that takes it
//
// Joint planning needs fewer partitions than lowering for one backend after another, because a region can
// wait for results of another backend's region (plan_owners.h). Tags and verdicts follow
// propose_partitions.h.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "depute/backend/partitioner.h"
#include "depute/backend/region_options.h"

#pragma GCC visibility push(default)

namespace depute {

// `proposals` are in order of priority. Fails if there are none, and in the cases where propose_partitions()
// fails.
Result<PartitionResult> plan_together(const Program& program, const Method& method,
                                      std::span<const Proposal> proposals);

// Several partitioners combined into one, in order of priority. Each must return a proposal.
class SeveralPartitioners : public Partitioner {
 public:
  explicit SeveralPartitioners(std::vector<std::shared_ptr<const Partitioner>> partitioners)
      : partitioners_(std::move(partitioners)) {}

  // Union of the ops that the partitioners want to see undecomposed.
  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override;
  Result<PartitionResult> partition(const Program& program, const Method& method) const override;

 private:
  std::vector<std::shared_ptr<const Partitioner>> partitioners_;
};

}  // namespace depute

#pragma GCC visibility pop
