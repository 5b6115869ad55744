// Prints the text form of programs, which parse_program() reads back without loss. docs/ir.md has the grammar
// and samples.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "depute/program/data_place.h"
#include "depute/program/program.h"

#pragma GCC visibility push(default)

namespace depute {

using ValueNames = std::unordered_map<const Value*, Name>;

struct PrintOptions {
  // Constants and blobs up to this size are printed completely. Larger ones become elided(size, "xxh3:..."),
  // which can be compared but not run.
  std::size_t max_inline_bytes = 256;
  bool originals = false;  // print the original subprograms of delegates
  bool sources = false;    // print sources of nodes: from "model.py":12 "features.0"
  bool marks = true;       // print tags and debug handles of nodes
  // Names printed instead of the values' own names.
  const ValueNames* names = nullptr;
  // Returns the location of data above max_inline_bytes, printed as file("path", offset, size) and read back
  // without a copy. Data are elided if it returns nullopt.
  std::function<std::optional<DataPlace>(const Storage&)> place_of_data = {};
};

std::string print(const Program& program, const PrintOptions& options = {});
std::string print(const Graph& graph);
std::string print(const Node& node, const PrintOptions& options = {});
std::string print(const Argument& argument);

}  // namespace depute

#pragma GCC visibility pop
