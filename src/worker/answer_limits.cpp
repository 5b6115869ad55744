// Counts the parts of a JSON text without parsing it.
#include "worker/answer_limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace depute {
namespace {

Failure too_large(std::size_t most, std::string_view what) {
  return failure("worker", "", fmt::format("its answer has more than {} {}", most, what));
}

// Returns the position of the closing quote, or npos.
std::size_t end_of_string(std::string_view line, std::size_t at) {
  while (at < line.size() && line[at] != '"') at += line[at] == '\\' ? 2 : 1;
  return at < line.size() ? at : line.npos;
}

}  // namespace

Status check_answer_size(std::string_view line) {
  std::size_t depth = 0;
  std::size_t parts = 0;
  std::size_t objects = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '"') {
      const std::size_t end = std::min(end_of_string(line, at + 1), line.size());
      if (end - at - 1 > max_answer_string_bytes)
        return too_large(max_answer_string_bytes, "bytes in one string");
      at = end;
    }
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == '[' || c == '{' || c == ',') ++parts;
    if (c == '{') ++objects;
    if (depth > max_answer_depth) return too_large(max_answer_depth, "levels of lists and objects");
    if (parts > max_answer_parts) return too_large(max_answer_parts, "lists, objects and elements");
    if (objects > max_answer_objects) return too_large(max_answer_objects, "objects");
  }
  return {};
}

}  // namespace depute
