// Selects the .ptd file for a constant or for data of a delegate: the first one whose pattern matches the
// name.
//
//   layers.*      layers.0.weight, and a delegate's data derived from it: xnn:cat(layers.0.weight,bias)
//   *             all names
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "depute/compiler/write_options.h"

namespace depute {

// Returns the index of the file, or nullopt for data that stay in the program.
std::optional<std::size_t> find_file(std::span<const DataFile> files, std::string_view name);
// Returns the file that takes all names that no pattern matches, or null.
const DataFile* file_of_rest(std::span<const DataFile> files);

}  // namespace depute
