// CapabilityPartitioner: takes what a function, or a rule per op, says the backend can take, in the fewest
// regions.
//
//   CapabilityPartitioner(support_by_op({{"aten.relu.default", {}},
//                                        {"aten.add.Tensor", check_add}}),
//                         {.owner = "mine", .spec = {"MyBackend", {}}, .regions = {.mode = RegionMode::Fx}})
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "depute/proposing_partitioner.h"

#pragma GCC visibility push(default)

namespace depute {

// An op that the backend takes, if `check` agrees; without one, always.
struct OpSupport {
  std::string op = {};
  SupportFunction check = {};
};

// Other ops are refused with the rule "op". Of two lines for an op the first counts.
SupportFunction support_by_op(std::vector<OpSupport> rules);

class CapabilityPartitioner : public ProposingPartitioner {
 public:
  // Groups cannot be given here, as nodes are not known yet: GroupPartitioner takes them by name.
  CapabilityPartitioner(SupportFunction support, ProposeOptions options)
      : proposal_{std::move(support), std::move(options)} {}

 protected:
  Result<Proposal> propose(const Program&, const Method&) const override { return proposal_; }

 private:
  Proposal proposal_;
};

}  // namespace depute

#pragma GCC visibility pop
