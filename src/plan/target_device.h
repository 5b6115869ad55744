// Checks the device of a delegate's arguments and results: its compile spec `target_device`, "cpu" or
// "cuda:0".
//
// For another device ExecuTorch plans memory there and copies values to and from it around the call. That
// memory comes from an allocator that the application registers; without one, as in the stock runtime, such a
// program does not load. Depute plans CPU memory only and refuses every other device.
#pragma once

#include <string_view>

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

inline constexpr std::string_view target_device_key = "target_device";

// Fails for any device but the CPU, and for text that names no device.
Status check_target_device(const Delegate& delegate);

}  // namespace depute
