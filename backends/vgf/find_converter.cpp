// What pip puts into bin/ is a script that starts the program in lib/, so a script is replaced by its program: a
// program that runs too long is killed, and a script would leave the one that it started.
//
//   bin/model-converter
//   lib/python3.11/site-packages/model_converter/binaries/bin/model-converter
//
// Both are below the folder of a Python environment, such as /opt/venv.
#include "find_converter.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace depute::vgf {
namespace {

namespace fs = std::filesystem;

constexpr std::array variables = {"DEPUTE_MODEL_CONVERTER", "MODEL_CONVERTER_PATH"};
constexpr std::array names = {"model-converter", "model_converter"};
constexpr std::string_view in_packages = "model_converter/binaries/bin/model-converter";
constexpr std::string_view hint =
    "pip install ai-ml-sdk-model-converter, or name the program in the option converter or in "
    "DEPUTE_MODEL_CONVERTER";

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string() : std::string(value);
}

// Returns the program in a Python environment: a folder with lib/python3.*/site-packages.
std::optional<fs::path> find_in_environment(const fs::path& environment) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(environment / "lib", error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with("python3")) continue;
    fs::path program = at->path() / "site-packages" / in_packages;
    if (is_program(program)) found.push_back(std::move(program));
  }
  if (found.empty()) return std::nullopt;
  return *std::ranges::max_element(found);
}

fs::path without_script(const fs::path& path) {
  const bool has_its_name = std::ranges::find(names, path.filename()) != names.end();
  const auto program =
      has_its_name ? find_in_environment(path.parent_path().parent_path()) : std::optional<fs::path>();
  return program.value_or(path);
}

std::optional<fs::path> find_on_path() {
  std::string_view path;
  const std::string all = value_of("PATH");
  for (std::string_view rest = all; !rest.empty();
       rest.remove_prefix(std::min(path.size() + 1, rest.size()))) {
    path = rest.substr(0, rest.find(':'));
    for (const char* name : names) {
      const fs::path program = fs::path(path) / name;
      if (!path.empty() && is_program(program)) return without_script(program);
    }
  }
  return std::nullopt;
}

// Searches the environment that holds the file with this function: ENVIRONMENT/bin/depute, or
// ENVIRONMENT/lib/python3.11/site-packages/depute/_depute.so.
std::optional<fs::path> find_beside_depute() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_beside_depute), &info) == 0) return std::nullopt;
  std::error_code error;
  fs::path file = fs::canonical(info.dli_fname, error);
  // The main program's name may be relative to a folder that is no longer the current one.
  if (error) file = fs::canonical("/proc/self/exe", error);
  if (error) return std::nullopt;
  const fs::path folder = file.parent_path().parent_path();
  if (is_program(folder / in_packages)) return folder / in_packages;
  return find_in_environment(folder);
}

}  // namespace

Result<std::string> find_converter(std::string_view chosen) {
  std::string named(chosen);
  std::string_view by = "the option converter";
  for (const char* variable : variables) {
    if (!named.empty()) break;
    named = value_of(variable);
    by = variable;
  }
  if (!named.empty()) {
    if (is_program(named)) return without_script(named).string();
    return failure("vgf", named, std::string(by) + " names it, but it is not a program", hint);
  }
  auto found = find_on_path();
  const std::string active = value_of("VIRTUAL_ENV");
  if (!found && !active.empty()) found = find_in_environment(active);
  if (!found) found = find_beside_depute();
  if (found) return found->string();
  return failure("vgf", "", "Arm's model-converter, which makes VGF files, is not installed", hint);
}

}  // namespace depute::vgf
