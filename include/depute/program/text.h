// The text form of programs: print() writes it, and parse_program() reads it back without loss. docs/ir.md has
// the grammar and samples.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "depute/api.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

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

DEPUTE_API std::string print(const Program& program, const PrintOptions& options = {});
DEPUTE_API std::string print(const Graph& graph);
DEPUTE_API std::string print(const Node& node, const PrintOptions& options = {});
DEPUTE_API std::string print(const Argument& argument);

// Limits for input text; each error names the limit that is exceeded.
inline constexpr std::size_t max_text_bytes = std::size_t{1} << 32;
inline constexpr int max_text_nesting = 128;
inline constexpr std::size_t max_text_tensor_bytes = std::size_t{1} << 33;  // per constant
inline constexpr std::size_t max_text_random_bytes = std::size_t{1} << 28;  // total of all random(...)

// Fails with the position of the first error. `file_name` is used in messages ("model.ir:12:7"), and
// file("...") data are looked up beside it.
DEPUTE_API Result<Program> parse_program(std::string_view text, const std::string& file_name = "<text>",
                                         const std::shared_ptr<const OpTable>& ops = torch_ops());

}  // namespace depute
