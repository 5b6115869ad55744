// The text form of programs: printed and parsed whole, parse(print(p)) == p. Grammar and samples in
// docs/ir.md.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "depute/data_place.h"
#include "depute/program.h"

#pragma GCC visibility push(default)

namespace depute {

using ValueNames = std::unordered_map<const Value*, Symbol>;

struct PrintOptions {
  // Constants and blobs up to this size are printed whole; larger ones as elided(size, "xxh3:..."),
  // comparable but not runnable.
  std::size_t max_inline_bytes = 256;
  bool originals = false;  // also the subprograms that delegates were made from
  bool sources = false;    // also where nodes come from: from "model.py":12 "features.0"
  bool marks = true;       // tags and debug handles of nodes
  // Names that values have in the place of their own.
  const ValueNames* names = nullptr;
  // Asked about the bytes of larger ones: where they lie is printed as file("path", offset, size), which
  // reads them back without a copy. Nothing for what is to be elided.
  std::function<std::optional<DataPlace>(const Storage&)> place_of_data = {};
};

std::string print(const Program& program, const PrintOptions& options = {});
std::string print(const Graph& graph);
std::string print(const Node& node, const PrintOptions& options = {});
std::string print(const Argument& argument);

}  // namespace depute

#pragma GCC visibility pop
