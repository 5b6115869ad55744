// Finds programs of Arm. A script that pip puts into bin/ and that starts the program in lib/ is replaced by the program: a
// program that runs too long is killed, and a script would leave the one that it started.
//
//   bin/model-converter
//   lib/python3.11/site-packages/model_converter/binaries/bin/model-converter
//
// Both are below the folder of a Python environment, such as /opt/venv.
#include "find_tool.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "platform/programs.h"

namespace depute::tosa {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  return platform::is_program(path.string());
}

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string() : std::string(value);
}

std::optional<fs::path> find_in_folder(const ToolKind& kind, const fs::path& folder) {
  for (const char* name : kind.names) {
    if (is_program(folder / name)) return folder / name;
  }
  return std::nullopt;
}

// Returns the program in a Python environment: a folder with bin and lib/python3.*/site-packages.
std::optional<fs::path> find_in_environment(const ToolKind& kind, const fs::path& environment) {
  if (kind.in_packages.empty()) return find_in_folder(kind, environment / "bin");
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(environment / "lib", error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with("python3")) continue;
    fs::path program = at->path() / "site-packages" / kind.in_packages;
    if (is_program(program)) found.push_back(std::move(program));
  }
  if (found.empty()) return std::nullopt;
  return *std::ranges::max_element(found);
}

fs::path without_script(const ToolKind& kind, const fs::path& path) {
  const bool has_its_name = std::ranges::find(kind.names, path.filename()) != kind.names.end();
  if (!has_its_name || kind.in_packages.empty()) return path;
  return find_in_environment(kind, path.parent_path().parent_path()).value_or(path);
}

std::optional<fs::path> find_on_path(const ToolKind& kind) {
  for (const std::string& folder : platform::folders_on_path())
    if (const auto program = find_in_folder(kind, folder)) return without_script(kind, *program);
  return std::nullopt;
}

// Searches the environment that holds the file with this function: ENVIRONMENT/bin/depute, or
// ENVIRONMENT/lib/python3.11/site-packages/depute/_depute.so.
std::optional<fs::path> find_beside_depute(const ToolKind& kind) {
  const std::string code = platform::file_of_code(reinterpret_cast<const void*>(&find_beside_depute));
  if (code.empty()) return std::nullopt;
  std::error_code error;
  fs::path file = fs::canonical(code, error);
  // The main program's name may be relative to a folder that is no longer the current one.
  if (error) file = fs::canonical(platform::own_program(), error);
  if (error) return std::nullopt;
  const fs::path folder = file.parent_path().parent_path();
  if (folder.filename() != "site-packages") return find_in_environment(kind, folder);
  if (!kind.in_packages.empty() && is_program(folder / kind.in_packages)) return folder / kind.in_packages;
  return find_in_environment(kind, folder.parent_path().parent_path().parent_path());
}

}  // namespace

Result<std::string> find_tool(const ToolKind& kind, std::string_view chosen) {
  std::string named(chosen);
  std::string by = "the option " + std::string(kind.option);
  for (const char* variable : kind.variables) {
    if (!named.empty()) break;
    named = value_of(variable);
    by = variable;
  }
  if (!named.empty()) {
    if (is_program(named)) return without_script(kind, named).string();
    return failure(kind.backend, named, by + " names it, but it is not a program", kind.hint);
  }
  auto found = find_on_path(kind);
  const std::string active = value_of("VIRTUAL_ENV");
  if (!found && !active.empty()) found = find_in_environment(kind, active);
  if (!found) found = find_beside_depute(kind);
  if (found) return found->string();
  return failure(kind.backend, "", std::string(kind.what) + " is not installed", kind.hint);
}

}  // namespace depute::tosa
