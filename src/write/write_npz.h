// Writes arrays by name as numpy.savez does; read/npz.h reads them.
#pragma once

#include "depute/named_arrays.h"
#include "depute/result.h"
#include "support/output.h"

namespace depute {

// Fails for element types that numpy does not have. The output is the caller's to commit.
Status write_npz(const NamedArrays& arrays, Output& output);

}  // namespace depute
