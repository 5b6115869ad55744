// The spelling of region modes in options and protocols: "fx", "near". take_partition_controls()
// (filtered_partitioner.h) parses them.
#pragma once

#include <string_view>

#include "depute/backend/region_options.h"

namespace depute {

std::string_view word_of(RegionMode mode);
std::string_view word_of(Horizontal horizontal);

}  // namespace depute
