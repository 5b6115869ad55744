// Compiles TOSA for Ethos-U processors with Arm's Vela, which runs as a child process with files in a temporary folder.
//
//   TRY(const VelaOutput output, compile_with_vela(flatbuffer, program, target.flags()));
//
// Equal flatbuffers give equal results with one version of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/result.h"

namespace depute::ethosu {

// A tensor of the border, in the memory of its region.
struct VelaTensor {
  std::vector<std::int32_t> shape;  // of 6 sizes, the first ones 1
  std::int32_t element_size = 0;    // bytes
  std::int32_t offset = 0;          // bytes
  std::int32_t region = 0;
};

struct VelaOutput {
  std::vector<std::byte> commands;
  std::vector<std::byte> weights;
  std::uint32_t scratch_size = 0;  // bytes
  std::vector<VelaTensor> inputs;
  std::vector<VelaTensor> outputs;
  std::string summary;  // the estimated performance, a line for each figure
};

// Finds the program (backends/tosa/find_tool.h): `chosen`, DEPUTE_VELA, or vela of the package ethos-u-vela.
Result<std::string> find_vela(std::string_view chosen = {});

// Fails if the program ends with an error, whose text is in the details, or gives no commands: it does so for operators that
// the processor does not have. Nothing is left behind.
Result<VelaOutput> compile_with_vela(std::span<const std::byte> tosa, const std::string& program,
                                     std::span<const std::string> flags);

}  // namespace depute::ethosu
