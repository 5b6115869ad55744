// WholeProgramPartitioner: makes one delegate of everything between inputs and outputs, including constants,
// state and bodies (ExecuTorch's AllNodePartitioner).
#pragma once

#include <string>
#include <utility>

#include "depute/backend/proposing_partitioner.h"

#pragma GCC visibility push(default)

namespace depute {

// Does not check support, so the backend must accept every node. Also takes calls of earlier backends'
// delegates and unused constants.
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
