#include "tools/run/runner.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "support/try.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

std::string own_folder() {
  char path[PATH_MAX] = {};
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  return size <= 0 ? std::string() : fs::path(path).parent_path().string();
}

// Folder of the library that this code is in: the Python package has the program beside its module.
std::string library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&become_runner), &info) == 0) return {};
  return fs::path(info.dli_fname).parent_path().string();
}

std::string runner_path() {
  std::vector<std::string> folders = {own_folder(), library_folder()};
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const std::string& folder : folders) {
    const std::string file = folder + "/depute-run";
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

// Lets the loader take the runtime's libraries from there.
Status use_runtime(const std::string& folder) {
  for (const char* below : {"lib", ".", "executorch/lib"}) {
    const fs::path libraries = fs::path(folder) / below;
    std::error_code error;
    if (!fs::exists(libraries / "libexecutorch.so", error)) continue;
    std::string path = fs::absolute(libraries).string();
    const char* others = std::getenv("LD_LIBRARY_PATH");
    if (others != nullptr && *others != '\0') path += fmt::format(":{}", others);
    setenv("LD_LIBRARY_PATH", path.c_str(), 1);
    return {};
  }
  return failure("usage", "--runtime", fmt::format("{} has no lib/libexecutorch.so", folder),
                 "the folder of the Python package executorch, 1.5 or later");
}

}  // namespace

Result<std::string> find_runner(const std::string& runtime) {
  std::string runner = runner_path();
  if (runner.empty())
    return failure("run", "", "there is no depute-run beside depute or on PATH",
                   "`make runtime` in Depute's folder builds it with the runtime of the executorch wheel");
  if (!runtime.empty()) TRY_STATUS(use_runtime(runtime));
  return runner;
}

Result<int> become_runner(const std::string& runtime, std::span<char*> words) {
  TRY(const std::string runner, find_runner(runtime));
  std::vector<char*> all = {const_cast<char*>(runner.c_str())};
  all.insert(all.end(), words.begin(), words.end());
  all.push_back(nullptr);
  std::fflush(nullptr);
  execv(runner.c_str(), all.data());
  return failure("run", runner, fmt::format("cannot be started: {}", std::strerror(errno)));
}

}  // namespace depute
