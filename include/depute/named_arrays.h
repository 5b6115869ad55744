// Arrays by name, in the order of the file or dictionary that they come from: what numpy.savez keeps.
//
//   DEPUTE_TRY(NamedArrays arrays, read_npz("inputs.npz"));      // "x": f32[8, 3, 224, 224]
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "depute/data.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

using NamedArrays = std::vector<std::pair<std::string, TensorData>>;

// A zip archive of .npy files, "-" being standard input. Arrays lie where they are, in the mapped file, at
// any address. Arrays of Python objects are pickles, and refused.
Result<NamedArrays> read_npz(const std::string& path);

}  // namespace depute

#pragma GCC visibility pop
