// Writes named arrays like numpy.savez; read/npz.h reads them.
#pragma once

#include "depute/program/data.h"
#include "depute/program/result.h"
#include "support/output.h"

namespace depute {

// Fails for element types that numpy lacks. The caller commits the output.
Status write_npz(const NamedArrays& arrays, Output& output);

}  // namespace depute
