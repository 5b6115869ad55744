// Checks that ExecuTorch's XnnpackBackend and XNNPACK accept a payload and define its result. It reads the
// written bytes, so it also finds errors of the writer.
//
//   node 3, Conv2d: its filter has 3 input channels a group, and the node says 4
//
// The verifier lists what is allowed; everything else is a fault, even if the runtime would accept it and
// compute something else. XNNPACK checks part of this when it loads a program and part of it at run time. For
// the rest (types without a kernel, an id that is used too early) its behavior is undefined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "depute/program/program.h"

namespace depute::xnnpack {

struct PayloadFault {
  std::optional<std::uint32_t> node;  // its position; nullopt for a fault of a value or of the whole
  std::string message;                // names the node or the value
};

// `named_data` accompanies the payload. If `varies[id]` is true, the value's sizes are upper bounds and only
// ranks are compared. Ids beyond its end do not vary.
std::optional<PayloadFault> find_payload_fault(std::span<const std::byte> payload,
                                               std::span<const NamedData> named_data,
                                               const std::vector<bool>& varies = {});
// Like find_payload_fault(), for bytes that write_payload() has just returned.
std::optional<PayloadFault> find_fault_of_written(std::span<const std::byte> payload,
                                                  std::span<const NamedData> named_data,
                                                  const std::vector<bool>& varies);

}  // namespace depute::xnnpack
