// Finds Arm's model-converter, the program that turns TOSA flatbuffers into VGF files. Depute does not contain it:
// the Python package ai-ml-sdk-model-converter does.
//
//   TRY(const std::string program, find_converter(option));
#pragma once

#include <string>
#include <string_view>

#include "depute/program/result.h"

namespace depute::vgf {

// Returns the path of the program: `chosen` if not empty, else what DEPUTE_MODEL_CONVERTER or ExecuTorch's
// MODEL_CONVERTER_PATH names, else the first that is found on PATH, in the active Python environment, and in the
// one that Depute itself is installed in. The environment is read at each call.
Result<std::string> find_converter(std::string_view chosen = {});

}  // namespace depute::vgf
