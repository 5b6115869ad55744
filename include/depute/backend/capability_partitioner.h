// CapabilityPartitioner: takes all nodes that a support function, or a rule per op, accepts, in as few
// regions as possible.
//
//   CapabilityPartitioner(support_by_op({{"aten.relu.default", {}},
//                                        {"aten.add.Tensor", check_add}}),
//                         {.owner = "mine", .spec = {"MyBackend", {}}, .regions = {.mode = RegionMode::Fx}})
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "depute/backend/proposing_partitioner.h"

#pragma GCC visibility push(default)

namespace depute {

// An op that the backend supports if `check` accepts the node, or always if `check` is empty.
struct OpSupport {
  std::string op = {};
  SupportFunction check = {};
};

// Rejects ops without a rule, with the rule name "op". If an op has several rules, the first one counts.
SupportFunction support_by_op(std::vector<OpSupport> rules);

class CapabilityPartitioner : public ProposingPartitioner {
 public:
  // `options` must not contain groups, because nodes are not known yet; GroupPartitioner takes groups by
  // name.
  CapabilityPartitioner(SupportFunction support, ProposeOptions options)
      : proposal_{std::move(support), std::move(options)} {}

 protected:
  Result<Proposal> propose(const Program&, const Method&) const override { return proposal_; }

 private:
  Proposal proposal_;
};

}  // namespace depute

#pragma GCC visibility pop
