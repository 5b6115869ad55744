// The payload of ExecuTorch's EthosUBackend: blocks with a name of 16 bytes, a size, and data that is padded to 16 bytes.
//
//   vela_bin_stream (empty), cmd_data, weight_data, scratch_size, inputs, outputs, vela_end_stream (empty)
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "depute/program/result.h"
#include "vela.h"

namespace depute::ethosu {

std::vector<std::byte> write_payload(const VelaOutput& output);

// Returns a line for each block, and for each tensor of the border. Fails for bytes that are no such payload.
Result<std::string> describe_payload(std::span<const std::byte> bytes);

}  // namespace depute::ethosu
