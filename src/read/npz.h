// Reads the arrays of a .npz file, as numpy.savez writes it: a zip archive of .npy files.
//
//   TRY(NamedArrays arrays, read_npz("inputs.npz"));      // "x": f32[8, 3, 224, 224]
//
// Arrays lie where they are, in the mapped file. Arrays of Python objects are pickles, and refused.
#pragma once

#include <string>

#include "depute/named_arrays.h"
#include "depute/result.h"
#include "read/limits.h"

namespace depute {

Result<NamedArrays> read_npz(const std::string& path, const ReadLimits& limits = {});

}  // namespace depute
