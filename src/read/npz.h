// Reads the arrays of a .npz file that is in memory: what read_npz of depute/named_arrays.h does with a file.
#pragma once

#include <string>

#include "depute/named_arrays.h"
#include "read/archive.h"

namespace depute {

// `name` is what errors call the file.
Result<NamedArrays> read_npz(ArchiveSource source, const std::string& name, const ReadLimits& limits);

}  // namespace depute
