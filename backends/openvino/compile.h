// Compiles a partition to the bytes that the runtime's OpenvinoBackend imports.
#pragma once

#include <ostream>
#include <string_view>

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute::openvino {

// Writes the blob of the program's only method, with floats computed in `precision` (keep_precision.h). Must
// be the first compile of a child process: otherwise the bytes depend on earlier compiles (child_process.h).
// May throw OpenVINO's exceptions.
Status compile(const Program& program, std::string_view precision, std::ostream& blob);

}  // namespace depute::openvino
