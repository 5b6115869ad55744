#include "tools/run/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include "platform/programs.h"
#include "support/try.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

// Beside the program, then beside the library that this code is in: the Python package has it beside its module.
std::string runner_path() {
  std::error_code error;
  fs::path own = fs::read_symlink(platform::own_program(), error);
  if (error) own = platform::own_program();
  const fs::path library = platform::file_of_code(reinterpret_cast<const void*>(&become_runner));
  std::vector<std::string> folders = {own.parent_path().string(), library.parent_path().string()};
  std::ranges::move(platform::folders_on_path(), std::back_inserter(folders));
  for (const std::string& folder : folders) {
    const std::string file = folder + "/depute-run";
    if (!folder.empty() && platform::is_program(file)) return file;
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
    platform::set_variable("LD_LIBRARY_PATH", path);
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
  std::fflush(nullptr);
  const std::error_code error = platform::become_program(runner, words);
  return failure("run", runner, fmt::format("cannot be started: {}", error.message()));
}

}  // namespace depute
