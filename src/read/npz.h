// Reads the arrays of a .npz file in memory; read_npz() of depute/program/data.h reads a file.
#pragma once

#include <string>
#include <string_view>

#include "depute/program/data.h"
#include "read/pt2/archive.h"

namespace depute {

// `name` names the file in errors.
Result<NamedArrays> read_npz(ArchiveSource source, const std::string& name, const ReadLimits& limits);

// Returns numpy's name of the element type, "<f4"; empty if it has none.
std::string_view npy_descr(ScalarType dtype);

}  // namespace depute
