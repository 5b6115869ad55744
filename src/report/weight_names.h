// Names of weights, from the keys that files have of them.
//
//   "xnn:scale0(xnn:features.0.weight,xnn:s):16x3:10"    weight_name -> "features.0.weight"
//                                                        layer_name  -> "features.0"
#pragma once

#include <string>
#include <string_view>

namespace depute {

// The program's key of the first constant that the bytes were computed from. Keys of computed bytes have the
// form BACKEND:WHAT(KEY,...) and BACKEND:KEY:LAYOUT; a key of another form is its own name.
std::string weight_name(std::string_view key);
// The module that has the weight: the name before ".weight", ".bias" and the like; the name itself where it
// has none.
std::string layer_name(std::string_view key);

}  // namespace depute
