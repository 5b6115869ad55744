// Writes a program as JSON for tools: methods, inputs, nodes, constants and delegates, without weight bytes.
#pragma once

#include <string>

#include "depute/program/program.h"

namespace depute {

std::string program_json(const Program& program);

}  // namespace depute
