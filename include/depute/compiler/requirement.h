// Requirements on a lowering, for CI: --require "coverage>=95%,partitions<=3".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/result.h"
#include "depute/tools/report.h"

#pragma GCC visibility push(default)

namespace depute {

struct Requirement {
  enum class Quantity : std::uint8_t {
    Coverage,
    Partitions,
    DelegatedNodes,
    NonDelegatedNodes,
    NonDelegatedMacs,
    BoundaryBytes,
    Memory,
    FileSize,
    Sqnr,
    Kernels
  };
  enum class Relation : std::uint8_t { AtLeast, AtMost, Equal };
  Quantity quantity;
  Relation relation;
  double bound = 0;
  std::string text = {};                  // as written by the user
  std::string backend = {};               // for Coverage: the only backend that counts; empty: all
  std::vector<std::string> kernels = {};  // for Kernels: allowed names; * matches any text
};

// Parses requirements, separated by commas: each has a quantity, a relation (>=, <=, ==) and a bound.
//
//   coverage                 percentage of nodes that are delegated
//   coverage:BACKEND         percentage of nodes that are delegated to this backend
//   partitions, delegates    number of delegates
//   delegated                number of delegated nodes
//   non_delegated            number of undelegated nodes
//   non_delegated_macs       multiply-accumulates of undelegated nodes, at the maximum sizes
//   boundary_bytes           bytes of the tensors that enter and leave delegates, at the maximum sizes
//   memory                   bytes of planned memory of the method that needs most
//   file_size                bytes of the .pte file and its .ptd files
//   sqnr                     lowest signal-to-noise ratio of all quantized layers, in decibels; infinite
//                            if no layer was quantized
//   kernels<=NAMES           the program calls only these kernels; names are separated by blanks, and *
//                            matches any text
//
// Bytes may be written as 500K, 16M or 2G. A size without a bound makes a quantity infinite. Fails for other
// text.
Result<std::vector<Requirement>> parse_requirements(std::string_view text);

// Fails for a requirement on a backend that is not in `backends`.
Status check_requirements(const std::vector<Requirement>& requirements,
                          const std::vector<std::string>& backends);

// True if the requirement can be checked only after the file is written (file size).
bool needs_file(const Requirement& requirement);

// Returns one line per violated requirement: "coverage>=95% (is 92.9%)". With `with_file` false, skips
// requirements that need the file.
std::vector<std::string> unmet(const Report& report, const std::vector<Requirement>& requirements,
                               bool with_file = true);

}  // namespace depute

#pragma GCC visibility pop
