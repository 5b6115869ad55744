// Backends that execute delegates by the reference kernels, in place of those that the runtime lacks.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"
#include "schema/execution_plan.h"

namespace depute {

// Registers a backend for each of `ids`; without ids for all that the method's delegates name and the runtime lacks. `originals`
// are those of the method's delegates: the runtime initializes delegates in that order. Returns the number of delegates of each such
// backend. Fails if the runtime has a backend of that name itself.
Result<std::map<std::string, std::size_t>> register_stand_ins(
    const ExecutionPlan& method, const std::vector<std::string>& ids,
    const std::vector<std::shared_ptr<const Program>>& originals);

}  // namespace depute
