// Takes the nodes that OpenVINO converts. Its op table decides first; then a trial conversion of all
// remaining nodes removes the ones that fail.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "depute/backend/proposing_partitioner.h"
#include "depute/backend/registry.h"

namespace depute::openvino {

class OpenvinoPartitioner : public ProposingPartitioner {
 public:
  // Fails for unknown options, or if OpenVINO cannot be used on this machine.
  static Result<std::unique_ptr<Partitioner>> make(const BackendOptions& options);

  // Ops that OpenVINO converts, if it could take the node.
  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override;

 protected:
  Result<Proposal> propose(const Program& program, const Method& method) const override;

 private:
  std::vector<std::string> excluded_;  // ops that are not delegated
  std::string precision_;
};

// Names and meanings of the options, for `depute backends openvino`.
std::vector<std::pair<std::string, std::string>> option_meanings();

}  // namespace depute::openvino
