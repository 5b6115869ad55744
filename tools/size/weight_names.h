// Derives names of weights from their keys in files.
//
//   "xnn:scale0(xnn:features.0.weight,xnn:s):16x3:10"    weight_name -> "features.0.weight"
//                                                        layer_name  -> "features.0"
#pragma once

#include <string>
#include <string_view>

namespace depute {

// Returns the program's key of the first constant that the data were computed from. Keys of computed data
// have the form BACKEND:WHAT(KEY,...) or BACKEND:KEY:LAYOUT. Any other key is returned unchanged.
std::string weight_name(std::string_view key);
// Returns the module of the weight: the name before ".weight", ".bias" and the like, or else the name itself.
std::string layer_name(std::string_view key);

}  // namespace depute
