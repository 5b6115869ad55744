// Limits on untrusted input files. A file beyond a limit is rejected with an error that names the limit.
//
//   ReadLimits limits;
//   limits.nodes = 10;                       // a test can lower a limit
//
// The limits are far above any real model: the largest exports have a million nodes and as many weights.
#pragma once

#include <cstddef>
#include <cstdint>

namespace depute {

struct ReadLimits {
  // --- the zip archive
  std::size_t archive_entries = std::size_t{1} << 22;
  std::size_t entry_name_bytes = 4096;
  std::uint64_t inflated_bytes = std::uint64_t{1} << 34;  // sum over all deflated entries that are read
  std::uint64_t inflate_ratio = 256;  // of one deflated entry: size divided by stored size

  // --- JSON
  std::size_t json_bytes = 0xFFFFFFFF;  // of one entry; also the parser's maximum
  std::size_t json_depth = 512;

  // --- the program
  std::size_t models = 1024;
  std::size_t nodes = std::size_t{1} << 24;  // in all graphs
  std::size_t graph_depth = 32;              // nesting of control-flow bodies
  std::size_t argument_depth = 16;           // nesting of dictionaries
  std::size_t list_elements = std::size_t{1} << 24;
  // One symbolic expression; max_sym_depth limits its nesting.
  std::size_t expression_bytes = std::size_t{1} << 16;

  // --- pickles
  std::size_t pickle_bytes = std::size_t{1} << 30;
  std::size_t pickle_values = std::size_t{1} << 24;
  std::size_t subclass_depth = 8;  // nesting of tensor subclasses
  std::size_t subclass_parts = std::size_t{1} << 16;
};

}  // namespace depute
