#include "platform/programs.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "platform/posix/system_parts.h"

namespace depute::platform {

const char path_separator = ':';

std::string file_of_code(const void* function) {
  Dl_info info{};
  const bool is_known = dladdr(function, &info) != 0 && info.dli_fname != nullptr;
  return is_known ? std::string(info.dli_fname) : std::string();
}

bool is_program(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
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
