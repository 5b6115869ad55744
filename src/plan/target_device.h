// The device that a delegate's arguments and results lie on: its compile spec `target_device`, "cpu",
// "cuda:0".
//
// ExecuTorch plans memory of that device and copies values to and from it around the call. A runtime gets
// such memory from an allocator that the application registers; the stock one registers none, so that such a
// program does not load in it. Plans made here have memory of the CPU only: any other device is refused,
// rather than emitted with its tensors in the wrong place.
#pragma once

#include <string_view>

#include "depute/program.h"
#include "depute/result.h"

namespace depute {

inline constexpr std::string_view target_device_key = "target_device";

// Fails for another device than the CPU, and for what is no device.
Status check_target_device(const Delegate& delegate);

}  // namespace depute
