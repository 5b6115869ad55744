// Conditions that a lowering must meet, for CI: --require "coverage>=95%,partitions<=3".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "depute/report.h"
#include "depute/result.h"

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
  std::string text = {};                  // as the user wrote it
  std::string backend = {};               // Coverage: of this one alone; empty: of all
  std::vector<std::string> kernels = {};  // Kernels: the names that are allowed, with * for any text
};

// Separated by commas, each a quantity, a relation (>=, <=, ==) and a bound:
//
//   coverage, coverage:BACKEND   percent of nodes that are delegated, or that this backend has
//   partitions (or delegates), delegated, non_delegated
//                                how many delegates; nodes that have an owner; those that are left
//   non_delegated_macs           multiplications of the nodes that are left, at the largest sizes
//   boundary_bytes               of tensors that go into delegates and come out, at the largest sizes
//   memory                       bytes of planned memory, of the method that needs most
//   file_size                    bytes of the .pte and its .ptd files
//   sqnr                         decibels of the noisiest layer that was quantised; infinite without one
//   kernels<=NAMES               the program calls none but these: names with blanks between them
//
// Bytes may be written as 500K, 16M or 2G. Sizes without a bound make a quantity infinite.
Result<std::vector<Requirement>> parse_requirements(std::string_view text);

// Fails for one that asks about a backend which is not among these.
Status check_requirements(const std::vector<Requirement>& requirements,
                          const std::vector<std::string>& backends);

// The file's size is known only when it was written.
bool needs_file(const Requirement& requirement);

// One line for each requirement that does not hold: "coverage>=95% (is 92.9%)". `with_file` false: without
// those that need the file.
std::vector<std::string> unmet(const Report& report, const std::vector<Requirement>& requirements,
                               bool with_file = true);

}  // namespace depute

#pragma GCC visibility pop
