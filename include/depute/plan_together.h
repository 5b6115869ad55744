// Several backends placed at once: one PartitionResult with the tags of all.
//
//   return plan_together(program, method, std::vector<Proposal>{gpu, cpu});
//
//   gpu0, cpu0, gpu1, ...: each node with the first backend that takes it
//
// Planned together, backends need fewer partitions than lowered one after another, as a region can wait for
// what another backend's region gives it (plan_owners.h). Tags and verdicts are as in propose_partitions.h.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "depute/partitioner.h"
#include "depute/region_options.h"

#pragma GCC visibility push(default)

namespace depute {

// Proposals in order of priority. Fails only as propose_partitions() does, and without proposals.
Result<PartitionResult> plan_together(const Program& program, const Method& method,
                                      std::span<const Proposal> proposals);

// Partitioners in order of priority, as one. Each must give a proposal.
class SeveralPartitioners : public Partitioner {
 public:
  explicit SeveralPartitioners(std::vector<std::shared_ptr<const Partitioner>> partitioners)
      : partitioners_(std::move(partitioners)) {}

  // What any of them wants to see whole.
  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override;
  Result<PartitionResult> partition(const Program& program, const Method& method) const override;

 private:
  std::vector<std::shared_ptr<const Partitioner>> partitioners_;
};

}  // namespace depute

#pragma GCC visibility pop
