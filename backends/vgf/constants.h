// The constants of a graph in the order in which a module declares them, each value once.
//
//   RESHAPE(x, [2, 3]); CONV2D(x, w, b, zero, zero)   ->   zero, b, w, [2, 3]
//
// Constants with few elements become part of the SPIR-V module, the others lie behind it in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/tosa/graph.h"
#include "declarations.h"

namespace depute::vgf {

struct UsedConstant {
  tosa::TensorId tensor = 0;
  std::optional<Literal> literal = {};       // of one with few elements
  std::optional<weights::Bytes> bytes = {};  // of one with many
};

struct UsedConstants {
  std::vector<UsedConstant> constants;
  std::vector<tosa::TensorId> same_as;  // by tensor: the constant with the same value that is declared
};

UsedConstants find_constants(const tosa::TosaGraph& graph);

// Appends the elements as they are in the file: integers in their stored type, and a true bool as 255, as Arm's
// model-converter writes them.
void append_elements(std::vector<std::byte>& file, std::span<const std::byte> bytes,
                     const tosa::TosaTensor& tensor);
std::size_t bytes_in_file(const tosa::TosaTensor& tensor);

}  // namespace depute::vgf
