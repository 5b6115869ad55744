// Takes the nodes that OpenVINO converts. Its op table decides first; then a trial conversion of all
// remaining nodes removes the ones that fail.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "depute/backend/partitioner.h"
#include "depute/backend/registry.h"

namespace depute::openvino {

// Fails for unknown options, or if OpenVINO cannot be used on this machine.
Result<std::unique_ptr<Partitioner>> make_openvino_partitioner(const BackendOptions& options);

// Names and meanings of the options, for `depute backends openvino`.
std::vector<std::pair<std::string, std::string>> option_meanings();

}  // namespace depute::openvino
