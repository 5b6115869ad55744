// Partitioner for XNNPACK: takes every node that a rule of ops/ allows, in the fewest regions.
//
// Options: exclude=OP+OP keeps ops on ExecuTorch's kernels. layer_norm=true takes native_layer_norm as
// several nodes, false never takes it, and by default the cheaper choice is used (costs.h). weights=f16
// stores the weights of products as f16.
#pragma once

#include "depute/backend/proposing_partitioner.h"
#include "depute/backend/registry.h"
#include "node_query.h"

namespace depute::xnnpack {

class XnnpackPartitioner : public ProposingPartitioner {
 public:
  static Result<std::unique_ptr<Partitioner>> make(const BackendOptions& options);

  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override;

 protected:
  Result<Proposal> propose(const Program& program, const Method& method) const override;

 private:
  Options options_;
};

// Names and meanings of the options, for `depute backends`.
std::vector<std::pair<std::string, std::string>> option_meanings();

}  // namespace depute::xnnpack
