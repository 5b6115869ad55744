#include "partition/node_paths.h"

#include <fmt/format.h>

namespace depute {

std::string path_text(std::span<const Node* const> path) {
  constexpr std::size_t named_at_each_end = 4;
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!text.empty()) text += " -> ";
    if (path.size() > 2 * named_at_each_end + 1 && i == named_at_each_end) {
      text += fmt::format("({} more)", path.size() - 2 * named_at_each_end);
      i = path.size() - named_at_each_end - 1;
      continue;
    }
    text += fmt::format("%{}", path[i]->display_name());
  }
  return text;
}

}  // namespace depute
