// Memory to load methods, from their plans and the sizes of the runtime's classes (load_memory.h).
#pragma once

#include <vector>

#include "depute/tools/load_memory.h"
#include "read/pte.h"
#include "schema/execution_plan.h"
#include "support/fields.h"

namespace depute {

// Where named data are: the runtime joins the maps of both places.
struct DataMaps {
  bool in_program = false;
  bool in_files = false;  // .ptd
};

std::vector<LoadMemory> method_memory(const ExecutionPlan& method, DataMaps maps);
std::vector<LoadMemory> program_memory(const PteContents& program);

void fields(FieldWriter& visit, const LoadMemory& memory);

}  // namespace depute
