// Writes ETRecords (include/depute/tools/etrecord.h) to an output.
//
//   parse_etrecord("model.etrecord").edge_dialect_program      ExecuTorch's reader, in Python
#pragma once

#include "depute/tools/etrecord.h"
#include "support/output.h"

namespace depute {

// The caller commits the output.
Status write_etrecord(const EtRecord& record, const Executable& executable, Output& output);

}  // namespace depute
