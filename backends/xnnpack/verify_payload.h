// Holds a payload against what ExecuTorch's XnnpackBackend and XNNPACK accept and define, as they read it:
// from its bytes, so that it finds what was written and not what was meant.
//
//   node 3, Conv2d: its filter has 3 input channels a group, and the node says 4
//
// It is a list of what is allowed; anything else is a fault, also where the runtime would take it and compute
// something else: XNNPACK checks part of this when it loads a program, part of it when it runs, and for some
// of it (types that no kernel exists for, an id that comes too late) its behaviour is undefined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "depute/program.h"

namespace depute::xnnpack {

struct PayloadFault {
  std::optional<std::uint32_t> node;  // its position; none for a fault of a value, or of the whole
  std::string message;                // names the node or the value
};

// `named_data` is what goes along with the payload. `varies[id]` says that a value's sizes are upper bounds:
// then shapes are not compared, only their ranks. Ids behind its end do not vary.
std::optional<PayloadFault> find_payload_fault(std::span<const std::byte> payload,
                                               std::span<const NamedData> named_data,
                                               const std::vector<bool>& varies = {});
// The same for what write_payload has just given, whose flatbuffer is sound.
std::optional<PayloadFault> find_fault_of_written(std::span<const std::byte> payload,
                                                  std::span<const NamedData> named_data,
                                                  const std::vector<bool>& varies);

}  // namespace depute::xnnpack
