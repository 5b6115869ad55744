#include "platform/file_system.h"

#include <sddl.h>

#include <array>
#include <filesystem>
#include <random>

#include "platform/windows/system_parts.h"

namespace depute::platform {
namespace {

constexpr int max_names = 100;  // tried for a new folder

std::error_code error_unless(bool is_done) {
  return is_done ? std::error_code() : last_error();
}

// Deletes a file of this name at `end`, without memory: a path has less than 32,768 characters.
bool delete_file(std::string_view path) {
  std::array<wchar_t, 1 << 15> name;
  const int length = MultiByteToWideChar(CP_UTF8, 0, path.data(), static_cast<int>(path.size()), name.data(),
                                         static_cast<int>(name.size()) - 1);
  name[static_cast<std::size_t>(length)] = L'\0';
  return DeleteFileW(name.data()) != 0;
}

}  // namespace

// Writes nothing, which fails if the stream cannot be written to.
bool is_open_for_writing(int number) {
  DWORD count = 0;
  return WriteFile(standard_handle(number), "", 0, &count, nullptr) != 0;
}

std::error_code check_writable(const std::string& path) {
  const auto file = File::open_to_write(path);
  return file ? std::error_code() : file.error();
}

std::error_code check_room_for_files(const std::string& folder) {
  const HANDLE handle =
      CreateFileW(wide(folder).c_str(), FILE_ADD_FILE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                  nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  const bool has_room = handle != INVALID_HANDLE_VALUE;
  const std::error_code error = error_unless(has_room);
  if (has_room) CloseHandle(handle);
  return error;
}

std::error_code replace_file(const std::string& from, const std::string& to) {
  constexpr DWORD flags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
  return error_unless(MoveFileExW(wide(from).c_str(), wide(to).c_str(), flags) != 0);
}

// Windows has no such call.
std::error_code exchange_files(const std::string&, const std::string&) {
  return std::make_error_code(std::errc::not_supported);
}

void remove_file(const std::string& path) {
  delete_file(path);
}

std::error_code remove_in(const File& folder, const std::string& name) {
  return error_unless(delete_file(path_of(folder) + '/' + name));
}

// replace_file() has waited.
std::error_code sync_folder(const std::string&) {
  return {};
}

void mark_as_used(const std::string& path) {
  std::error_code ignored;
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), ignored);
}

// For the owner, the system and administrators, who are for files there what root is elsewhere.
std::error_code create_private_folder(const std::string& path) {
  SECURITY_ATTRIBUTES access{sizeof(SECURITY_ATTRIBUTES), nullptr, FALSE};
  const wchar_t* rules = L"D:P(A;OICI;FA;;;OW)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";
  if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(rules, SDDL_REVISION_1,
                                                            &access.lpSecurityDescriptor, nullptr))
    return last_error();
  const std::error_code error = error_unless(CreateDirectoryW(wide(path).c_str(), &access) != 0);
  LocalFree(access.lpSecurityDescriptor);
  return error;
}

std::error_code create_unique_folder(std::string& path) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::uniform_int_distribution<std::size_t> any(0, letters.size() - 1);
  std::error_code error = std::make_error_code(std::errc::file_exists);
  for (int i = 0; i < max_names && error == std::errc::file_exists; ++i) {
    for (std::size_t at = path.size() - 6; at < path.size(); ++at) path[at] = letters[any(random)];
    error = create_private_folder(path);
  }
  return error;
}

std::string path_of(const File& folder) {
  std::array<wchar_t, 1 << 15> path;
  const DWORD length =
      GetFinalPathNameByHandleW(handle_of(folder), path.data(), static_cast<DWORD>(path.size()), 0);
  if (length == 0 || length >= path.size()) return {};
  std::string text = narrow({path.data(), length});
  constexpr std::string_view verbatim = R"(\\?\)";
  constexpr std::string_view shared = R"(\\?\UNC\)";
  if (text.starts_with(shared)) return R"(\\)" + text.substr(shared.size());
  return text.starts_with(verbatim) ? text.substr(verbatim.size()) : text;
}

std::uint64_t process_number() {
  return GetCurrentProcessId();
}

}  // namespace depute::platform
