// Partitioner for XNNPACK: takes every node that a rule of ops/ allows, in the fewest regions.
//
// Options: layer_norm=true takes native_layer_norm as several nodes, false never takes it, and by default the
// cheaper choice is used (costs.h). weights=f16 stores the weights of products as f16.
#pragma once

#include "depute/backend/partitioner.h"
#include "depute/backend/registry.h"

namespace depute::xnnpack {

Result<std::unique_ptr<Partitioner>> make_xnnpack_partitioner(const BackendOptions& options);

// Names and meanings of the options, for `depute backends`.
std::vector<std::pair<std::string, std::string>> option_meanings();

}  // namespace depute::xnnpack
