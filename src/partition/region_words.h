// The spelling of region modes in options and protocols: "fx". take_partition_controls()
// (pins.h) parses them.
#pragma once

#include <string_view>

#include "depute/backend/region_options.h"

namespace depute {

std::string_view word_of(RegionMode mode);

}  // namespace depute
