#include "platform/programs.h"

#include <array>
#include <cstdlib>
#include <filesystem>

#include "platform/child_process.h"
#include "platform/windows/system_parts.h"

namespace depute::platform {

namespace {

std::string file_of_module(HMODULE module) {
  std::array<wchar_t, 1 << 15> path;
  return narrow({path.data(), GetModuleFileNameW(module, path.data(), static_cast<DWORD>(path.size()))});
}

}  // namespace

const char path_separator = ';';

std::string own_program() {
  return file_of_module(nullptr);
}

std::string file_of_code(const void* function) {
  constexpr DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  HMODULE module = nullptr;
  const bool is_known = GetModuleHandleExW(how, static_cast<const wchar_t*>(function), &module) != 0;
  return is_known ? file_of_module(module) : std::string();
}

// The ".exe" of its name may be left out, as for the system.
bool is_program(const std::string& path) {
  std::error_code error;
  const auto is_file = [&](const std::string& name) { return std::filesystem::is_regular_file(name, error); };
  return path.ends_with(".exe") ? is_file(path) : is_file(path + ".exe");
}

void set_variable(const char* name, const std::string& value) {
  _putenv_s(name, value.c_str());
}

// Windows cannot: this process waits for the other, and ends as it does.
std::error_code become_program(const std::string& path, std::span<char*> words) {
  std::array<Expected<File>, 3> streams = {File::of_stream(0), File::of_stream(1), File::of_stream(2)};
  ProgramStart start{.words = {path}};
  start.words.insert(start.words.end(), words.begin(), words.end());
  for (std::size_t i = 0; i < streams.size(); ++i)
    if (streams[i]) start.streams[i] = &*streams[i];
  const auto started = start_program(start);
  if (!started) return started.error();
  ExitProcess(static_cast<UINT>(wait_for_end(*started).code()));
}

}  // namespace depute::platform
