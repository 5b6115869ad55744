// Turns TOSA into VGF, the format of ExecuTorch's VgfBackend, with Arm's model-converter. It runs as a child process
// with files in a temporary folder, since it reads flatbuffers only from files.
//
//   TRY(const Converter converter, Converter::find(option));
//   TRY(std::vector<std::byte> vgf, convert_to_vgf(flatbuffer, converter));
//
// Equal flatbuffers give equal files with one version of the program.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/result.h"

namespace depute::vgf {

struct Converter {
  std::string program;                                              // a path
  std::chrono::milliseconds time_limit = std::chrono::minutes(10);  // of one conversion

  // Finds the program (find_converter.h).
  static Result<Converter> find(std::string_view chosen = {});
  // Returns the version that it reports of itself, such as "d8c1b8e", which belongs into the key of a cache.
  Result<std::string> version() const;
};

// Fails if the program does not end in time, ends with an error, whose text is in the details, or writes no VGF file.
// Thread-safe. Nothing is left behind.
Result<std::vector<std::byte>> convert_to_vgf(std::span<const std::byte> tosa, const Converter& converter);

}  // namespace depute::vgf
