// What backends and partitioners are asked through. They are code of others: what they throw is an error with
// their name and the function, and so is what those throw that they gave to be called later.
//
//   error[to_backend.backend-failed] backend MyBackend, cache_version(): it threw: no compiler is installed
#pragma once

#include <memory>
#include <string>

#include "depute/backend.h"
#include "depute/partitioner.h"

namespace depute {

// Null stays null. Asks for the backend's id, once and for all.
Result<std::unique_ptr<Backend>> guarded_backend(std::unique_ptr<Backend> backend);

// `name` is the backend's that the partitioner is for, and may be empty.
std::unique_ptr<Partitioner> guarded_partitioner(std::string name,
                                                 std::shared_ptr<const Partitioner> partitioner);

}  // namespace depute
