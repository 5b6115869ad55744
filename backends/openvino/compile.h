// A partition to the bytes that the runtime's OpenvinoBackend imports.
#pragma once

#include <ostream>
#include <string_view>

#include "depute/program.h"
#include "depute/result.h"

namespace depute::openvino {

// Writes the blob of the program's only method, which computes floats as `precision` says (keep_precision.h).
// Only in a child process, where it is the first of its kind: else the bytes depend on what was compiled
// before (child_process.h). May throw what OpenVINO throws.
Status compile(const Program& program, std::string_view precision, std::ostream& blob);

}  // namespace depute::openvino
