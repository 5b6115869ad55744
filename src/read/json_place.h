// Where in a JSON text a value lies: found by scanning the text along its path, only when an error needs it.
//
//   path [{"nodes"}, {3}, {"name"}]  ->  "nodes[3].name", byte 1204
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace depute {

// One step into a value: a member's key, or an element's index.
struct JsonStep {
  std::string_view key;
  std::size_t index = 0;
  bool is_index = false;
};

std::string json_path(std::span<const JsonStep> steps);
// The offset of the value's first byte in a valid document; nothing if the path does not lead to one.
std::optional<std::size_t> json_offset(std::string_view text, std::span<const JsonStep> steps);

}  // namespace depute
