// What the verifier of XNNPACK's payloads says of those in a .pte file, for tests that change their bytes.
#pragma once

#include <string>

#include "depute/program/result.h"

namespace depute {

// A line for each delegate of XNNPACK: "sound", or what is wrong with it.
Result<std::string> payload_text(const std::string& pte_path);

}  // namespace depute
