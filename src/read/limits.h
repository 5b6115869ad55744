// Limits on untrusted input files. A file beyond a limit is rejected with an error that names the limit.
//
//   ReadLimits limits;
//   limits.nodes = 10;                       // a test can lower a limit
//
//   DEPUTE_LIMITS=nodes=50000000,json_bytes=8000000000        a user can raise one, for every front end
//
// The limits are far above any real model: the largest exports have a million nodes and as many weights.
#pragma once

#include <cstdint>

#include "depute/program/result.h"

namespace depute {

struct ReadLimits {
  // --- the zip archive
  std::uint64_t archive_entries = std::uint64_t{1} << 22;
  std::uint64_t entry_name_bytes = 4096;
  std::uint64_t inflated_bytes = std::uint64_t{1} << 34;  // sum over all deflated entries that are read
  std::uint64_t inflate_ratio = 128;  // of one deflated entry: size divided by stored size; graphs reach 43

  // --- JSON
  std::uint64_t json_bytes = 0xFFFFFFFF;  // of one entry; also the parser's maximum
  std::uint64_t json_depth = 512;

  // --- the program
  std::uint64_t models = 1024;
  std::uint64_t nodes = std::uint64_t{1} << 24;  // in all graphs
  std::uint64_t graph_depth = 32;                // nesting of control-flow bodies
  std::uint64_t argument_depth = 16;             // nesting of dictionaries
  std::uint64_t list_elements = std::uint64_t{1} << 24;
  // One symbolic expression; max_sym_depth limits its nesting.
  std::uint64_t expression_bytes = std::uint64_t{1} << 16;

  // --- pickles
  std::uint64_t pickle_bytes = std::uint64_t{1} << 30;
  std::uint64_t pickle_values = std::uint64_t{1} << 20;  // in all pickles of a file; a weight takes 17
  std::uint64_t subclass_depth = 8;                      // nesting of tensor subclasses
  std::uint64_t subclass_parts = std::uint64_t{1} << 16;

  // --- locks and kernel manifests
  std::uint64_t text_bytes = std::uint64_t{1} << 30;

  bool has_environment = false;  // read_limits() made it, so DEPUTE_LIMITS raises each of them
};

// Remaining amounts that may be read from a file and all archives inside it.
struct ReadBudget {
  explicit ReadBudget(const ReadLimits& limits)
      : bytes_left(limits.inflated_bytes), pickle_values_left(limits.pickle_values) {}

  std::uint64_t bytes_left;  // inflated
  std::uint64_t pickle_values_left;
};

// The limits with those changes that the environment variable DEPUTE_LIMITS names. Fails if it is no list of
// NAME=NUMBER.
Result<ReadLimits> read_limits();

// Completes the error for an input that exceeds a limit: "9 entries" becomes "9 entries; the limit archive_entries is 8",
// with a hint that says how to raise it, if the user can.
Failure beyond(const ReadLimits& limits, std::uint64_t ReadLimits::* limit, Failure error);

}  // namespace depute
