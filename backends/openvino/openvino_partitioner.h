// Takes the nodes that OpenVINO converts: its own table of ops decides first, then a trial conversion of all
// of them together, from which what fails is taken back node by node.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "depute/proposing_partitioner.h"
#include "depute/registry.h"

namespace depute::openvino {

class OpenvinoPartitioner : public ProposingPartitioner {
 public:
  // Fails for unknown options, and where OpenVINO cannot be used on this machine.
  static Result<std::unique_ptr<Partitioner>> make(const BackendOptions& options);

  // Ops that OpenVINO has conversions for, where it could take the node.
  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override;

 protected:
  Result<Proposal> propose(const Program& program, const Method& method) const override;

 private:
  std::vector<std::string> excluded_;  // ops that are left alone
  std::string precision_;
};

// Keys and meanings, for `depute backends openvino`.
std::vector<std::pair<std::string, std::string>> option_meanings();

}  // namespace depute::openvino
