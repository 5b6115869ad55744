// Which .ptd file a constant or a delegate's data go to: the first one whose pattern matches the name.
//
//   layers.*      layers.0.weight, and what a delegate made of it: xnn:cat(layers.0.weight,bias)
//   *             all
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "depute/write_options.h"

namespace depute {

// The file's number; nothing for data that stay in the program.
std::optional<std::size_t> find_file(std::span<const DataFile> files, std::string_view name);
// The file that takes all the rest, or null.
const DataFile* file_of_rest(std::span<const DataFile> files);

}  // namespace depute
