// Reads PATH, which differs between systems by its separator alone.
#include "platform/programs.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace depute::platform {

std::vector<std::string> folders_on_path() {
  std::vector<std::string> folders;
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const std::size_t end = std::min(rest.find(path_separator), rest.size());
    if (end > 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return folders;
}

}  // namespace depute::platform
