// Reads the arrays of a .npz file that is in memory: what read_npz of depute/named_arrays.h does with a file.
#pragma once

#include <string>
#include <string_view>

#include "depute/named_arrays.h"
#include "read/archive.h"

namespace depute {

// `name` is what errors call the file.
Result<NamedArrays> read_npz(ArchiveSource source, const std::string& name, const ReadLimits& limits);

// "<f4": what numpy calls the element type; empty if it has none.
std::string_view npy_descr(ScalarType dtype);

}  // namespace depute
