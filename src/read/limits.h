// Limits on what a file from outside may ask for. A file beyond one of them is refused with an error that
// names it.
//
//   ReadLimits limits;
//   limits.nodes = 10;                       // a test can lower a limit
//
// They are far above any real model: the largest exports have a million nodes and as many weights.
#pragma once

#include <cstddef>
#include <cstdint>

namespace depute {

struct ReadLimits {
  // --- the zip archive
  std::size_t archive_entries = std::size_t{1} << 22;
  std::size_t entry_name_bytes = 4096;
  std::uint64_t inflated_bytes = std::uint64_t{1} << 34;  // of all deflated entries that are read, together
  std::uint64_t inflate_ratio = 256;  // of one deflated entry: its size by its stored size

  // --- JSON
  std::size_t json_bytes = 0xFFFFFFFF;  // of one entry; also what the JSON parser can take
  std::size_t json_depth = 512;

  // --- the program
  std::size_t models = 1024;
  std::size_t nodes = std::size_t{1} << 24;  // of all graphs
  std::size_t graph_depth = 32;              // control-flow bodies inside each other
  std::size_t argument_depth = 16;           // dictionaries inside each other
  std::size_t list_elements = std::size_t{1} << 24;
  std::size_t expression_bytes = std::size_t{1}
                                 << 16;  // one symbolic expression; see max_sym_depth for its nesting

  // --- pickles
  std::size_t pickle_bytes = std::size_t{1} << 30;
  std::size_t pickle_values = std::size_t{1} << 24;
  std::size_t subclass_depth = 8;  // tensor subclasses whose parts are subclasses
  std::size_t subclass_parts = std::size_t{1} << 16;
};

}  // namespace depute
