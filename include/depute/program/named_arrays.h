// Arrays by name, in the order of the file or dictionary they come from, as in numpy.savez.
//
//   DEPUTE_TRY(NamedArrays arrays, read_npz("inputs.npz"));      // "x": f32[8, 3, 224, 224]
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "depute/program/data.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

using NamedArrays = std::vector<std::pair<std::string, TensorData>>;

// Reads a .npz file (a zip archive of .npy files); "-" is standard input. Arrays are not copied: they stay in
// the mapped file, possibly unaligned. Fails for arrays of Python objects, which are pickled.
Result<NamedArrays> read_npz(const std::string& path);

}  // namespace depute

#pragma GCC visibility pop
