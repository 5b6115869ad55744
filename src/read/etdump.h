// Reads an ETDump: the events that ExecuTorch's runtime traced, one list per run.
//
//   run "Execute"
//     OPERATOR_CALL         instruction 0     1000..1400
//     native_call_tan.out   instruction 0     1050..1390
//     Method::execute                          990..1500
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/result.h"
#include "depute/program/type.h"

namespace depute {

struct EtEvent {
  std::string_view name;          // empty for an event inside a delegate
  std::int32_t instruction = -1;  // -1: outside instructions
  std::int32_t delegate_id = -1;  // for an event inside a delegate: this or delegate_text is set
  std::string_view delegate_text;
  std::uint64_t start = 0;  // in ticks, by the clock of the runtime
  std::uint64_t ticks = 0;

  bool is_inside_delegate() const { return delegate_id != -1 || !delegate_text.empty(); }
};

// A tensor that was traced, of an instruction or inside a delegate. Its elements lie in the debug buffer, row by row.
struct EtTensor {
  std::int32_t instruction = -1;  // -1: outside instructions
  std::int32_t delegate_id = -1;  // inside a delegate: this or delegate_text is set
  std::string_view delegate_text;
  ScalarType dtype = ScalarType::F32;
  std::vector<std::int64_t> sizes;
  std::uint64_t offset = 0;  // in the debug buffer, in bytes
  bool is_result = false;    // of the method
};

struct EtRun {
  std::string_view name;
  std::vector<EtEvent> events;
  std::vector<EtTensor> tensors;  // in the order of the dump
};

struct EtDump {
  std::vector<std::byte> bytes;  // texts of events point into it
  std::vector<EtRun> runs;
};

// `name` names the file in errors.
Result<EtDump> read_etdump(std::span<const std::byte> file, const std::string& name);

}  // namespace depute
