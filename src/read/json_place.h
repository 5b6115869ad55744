// Locates a value in a JSON text by scanning along its path; used only for errors.
//
//   path [{"nodes"}, {3}, {"name"}]  ->  "nodes[3].name", byte 1204
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace depute {

// A step into a value: the key of a member, or the index of an element.
struct JsonStep {
  std::string_view key;
  std::size_t index = 0;
  bool is_index = false;
};

std::string json_path(std::span<const JsonStep> steps);
// Returns the offset of the value's first byte in a valid document; nullopt if the path leads nowhere.
std::optional<std::size_t> json_offset(std::string_view text, std::span<const JsonStep> steps);

}  // namespace depute
