// ETRecord: what ExecuTorch's Inspector needs to join a runtime's trace (ETDump) with the model.
//
//   const EtRecord record{.exported = exported.shared_program(), .edge = delegated.shared_normalized()};
//   DEPUTE_TRY(std::vector<std::byte> bytes, etrecord_bytes(record, executable));
//
// An ETRecord is a zip archive, which executorch.devtools.etrecord.parse_etrecord() of ExecuTorch 1.4 and 1.5 reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "depute/api.h"
#include "depute/compiler/compiler.h"
#include "depute/program/program.h"
#include "depute/program/result.h"
#include "depute/program/torch_value.h"

namespace depute {

// A call of a delegate.
struct DelegateInstruction {
  std::string backend_id;
  std::size_t outputs = 0;
  // Debug handles by the identifiers in the runtime's trace. Identifiers that `depute profile` counts, such as
  // "Convolution #2", are left out: ExecuTorch's Inspector would take one for a part of another.
  DebugHandleMap pieces = {};
};

// Facts about a method's instructions for ExecuTorch's tools, by the instruction's index.
struct MethodInstructions {
  // Nodes of a kernel or of a delegate. For a delegate, the last handles are those of its outputs, in order: a
  // handle that is 0 stands for an output that no node computes.
  std::map<std::size_t, std::vector<std::uint32_t>> debug_handles = {};
  std::map<std::size_t, DelegateInstruction> delegates = {};
};

// By method. depute.ExecutorchProgramManager has them as debug_handle_map, delegate_map and
// instruction_id_to_num_outs_map.
DEPUTE_API std::map<std::string, MethodInstructions> instruction_maps(const Executable& executable);

struct EtRecord {
  // The program before to_edge(), of which the record has the method "forward", or the only one. Null: left out.
  std::shared_ptr<const Program> exported = {};
  std::shared_ptr<const Program> edge = {};  // before delegation: Delegated::shared_normalized()
  // Representative inputs, as a list, and reference outputs, as a dictionary of lists by method. Null: left out.
  std::shared_ptr<const TorchValue> inputs = {};
  std::shared_ptr<const TorchValue> outputs = {};
};

// Fails for programs that ExecuTorch's format of programs cannot express, such as those with symbolic floats.
DEPUTE_API Result<std::vector<std::byte>> etrecord_bytes(const EtRecord& record,
                                                         const Executable& executable);

}  // namespace depute
