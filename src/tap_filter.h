// Keeps the nodes that compute numbers of taps (depute/compiler/taps.h) out of what a partitioner takes.
#pragma once

#include <memory>

#include "depute/backend/partitioner.h"

namespace depute {

std::shared_ptr<const Partitioner> without_taps(std::shared_ptr<const Partitioner> partitioner);

}  // namespace depute
