#include "platform/programs.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "platform/posix/system_parts.h"

namespace depute::platform {

std::string file_of_code(const void* function) {
  Dl_info info{};
  const bool is_known = dladdr(function, &info) != 0 && info.dli_fname != nullptr;
  return is_known ? std::string(info.dli_fname) : std::string();
}

bool is_program(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> folders_on_path() {
  std::vector<std::string> folders;
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return folders;
}

void set_variable(const char* name, const std::string& value) {
  setenv(name, value.c_str(), 1);
}

std::error_code become_program(const std::string& path, std::span<char*> words) {
  std::vector<char*> all = {const_cast<char*>(path.c_str())};
  all.insert(all.end(), words.begin(), words.end());
  all.push_back(nullptr);
  execv(path.c_str(), all.data());
  return last_error();
}

}  // namespace depute::platform
