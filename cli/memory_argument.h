// Parses --memory and --memory-pin arguments.
#pragma once

#include <string>
#include <vector>

#include "depute/compiler/write_options.h"
#include "depute/program/result.h"

namespace depute {

// "sram=512K:1:align=64,dram=8M:2" -> {"sram", 524288 bytes, memory id 1, alignment 64}, {"dram", 8388608, 2}
Result<std::vector<MemoryBank>> parse_memory_argument(const std::string& text);

// "sram=features.0" -> {"sram", "features.0"}
Result<MemoryPin> parse_memory_pin_argument(const std::string& text);

}  // namespace depute
