// Wrappers around backends and partitioners, which are foreign code. An exception of theirs becomes an error with
// their name and the function; so does an exception of a callback that they return.
//
//   error[to_backend.backend-failed] backend MyBackend, cache_version(): it threw: no compiler is installed
#pragma once

#include <memory>
#include <string>

#include "depute/backend/backend.h"
#include "depute/backend/partitioner.h"

namespace depute {

// Wraps a backend and asks for its id, once. Returns null for null.
Result<std::unique_ptr<Backend>> guarded_backend(std::unique_ptr<Backend> backend);

// Wraps a partitioner. `name` is the backend's name for messages and may be empty.
std::unique_ptr<Partitioner> guarded_partitioner(std::string name,
                                                 std::shared_ptr<const Partitioner> partitioner);

}  // namespace depute
