// Arrays by name, in the order of the file or dictionary that they come from: what numpy.savez keeps.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "depute/data.h"

namespace depute {

using NamedArrays = std::vector<std::pair<std::string, TensorData>>;

}  // namespace depute
