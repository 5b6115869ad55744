// WholeProgramPartitioner: everything but inputs and outputs as one delegate, constants, state and bodies
// included: ExecuTorch's AllNodePartitioner.
#pragma once

#include <string>
#include <utility>

#include "depute/proposing_partitioner.h"

#pragma GCC visibility push(default)

namespace depute {

// Asks for no support: the backend must be able to take whatever comes. Calls of delegates that an earlier
// backend made are taken, too; so are constants that no node uses.
class WholeProgramPartitioner : public ProposingPartitioner {
 public:
  WholeProgramPartitioner(std::string owner, DelegationSpec spec)
      : owner_(std::move(owner)), spec_(std::move(spec)) {}

 protected:
  Result<Proposal> propose(const Program&, const Method&) const override {
    Proposal all{.support = [](const Node&) { return take(); },
                 .options = {.owner = owner_, .spec = spec_, .moved_data = MovedData::Everything}};
    all.options.take_delegates = true;
    return all;
  }

 private:
  std::string owner_;
  DelegationSpec spec_;
};

}  // namespace depute

#pragma GCC visibility pop
