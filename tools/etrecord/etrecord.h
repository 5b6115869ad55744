// Writes ETRecords (include/depute/tools/etrecord.h) to an output.
//
//   ETRECORD_V0, exported_program, edge_dialect_exported_program/forward, ..._state_dict, ..._constants,
//   ..._example_inputs, debug_handle_map, delegate_map, instruction_id_to_num_outs_map, export_graph_id
#pragma once

#include "depute/tools/etrecord.h"
#include "support/output.h"

namespace depute {

// The caller commits the output.
Status write_etrecord(const EtRecord& record, const Executable& executable, Output& output);

}  // namespace depute
