#include "platform/windows/system_parts.h"

#include <array>

namespace depute::platform {
namespace {

struct Meaning {
  DWORD code;
  std::errc error;
};

constexpr std::array meanings = {
    Meaning{ERROR_FILE_NOT_FOUND, std::errc::no_such_file_or_directory},
    Meaning{ERROR_PATH_NOT_FOUND, std::errc::no_such_file_or_directory},
    Meaning{ERROR_INVALID_NAME, std::errc::no_such_file_or_directory},
    Meaning{ERROR_INVALID_DRIVE, std::errc::no_such_file_or_directory},
    Meaning{ERROR_BAD_PATHNAME, std::errc::no_such_file_or_directory},
    Meaning{ERROR_BAD_NETPATH, std::errc::no_such_file_or_directory},
    Meaning{ERROR_BAD_NET_NAME, std::errc::no_such_file_or_directory},
    Meaning{ERROR_ACCESS_DENIED, std::errc::permission_denied},
    Meaning{ERROR_SHARING_VIOLATION, std::errc::permission_denied},
    Meaning{ERROR_LOCK_VIOLATION, std::errc::permission_denied},
    Meaning{ERROR_USER_MAPPED_FILE, std::errc::permission_denied},
    Meaning{ERROR_DELETE_PENDING, std::errc::permission_denied},
    Meaning{ERROR_WRITE_PROTECT, std::errc::read_only_file_system},
    Meaning{ERROR_FILE_EXISTS, std::errc::file_exists},
    Meaning{ERROR_ALREADY_EXISTS, std::errc::file_exists},
    Meaning{ERROR_DIRECTORY, std::errc::not_a_directory},
    Meaning{ERROR_CANT_RESOLVE_FILENAME, std::errc::too_many_symbolic_link_levels},
    Meaning{ERROR_FILENAME_EXCED_RANGE, std::errc::filename_too_long},
    Meaning{ERROR_INVALID_HANDLE, std::errc::bad_file_descriptor},
    Meaning{ERROR_INVALID_PARAMETER, std::errc::invalid_argument},
    Meaning{ERROR_NOT_SUPPORTED, std::errc::not_supported},
    Meaning{ERROR_NOT_ENOUGH_MEMORY, std::errc::not_enough_memory},
    Meaning{ERROR_OUTOFMEMORY, std::errc::not_enough_memory},
    Meaning{ERROR_COMMITMENT_LIMIT, std::errc::not_enough_memory},
    Meaning{ERROR_TOO_MANY_OPEN_FILES, std::errc::too_many_files_open},
    Meaning{ERROR_DISK_FULL, std::errc::no_space_on_device},
    Meaning{ERROR_HANDLE_DISK_FULL, std::errc::no_space_on_device},
    Meaning{ERROR_NOACCESS, std::errc::bad_address},
    Meaning{ERROR_BROKEN_PIPE, std::errc::broken_pipe},
    Meaning{ERROR_NO_DATA, std::errc::broken_pipe},
    Meaning{ERROR_BAD_EXE_FORMAT, std::errc::executable_format_error},
    Meaning{ERROR_NOT_SAME_DEVICE, std::errc::cross_device_link},
};

}  // namespace

std::error_code error_of(DWORD code) {
  for (const Meaning& meaning : meanings)
    if (meaning.code == code) return std::make_error_code(meaning.error);
  return std::make_error_code(std::errc::io_error);
}

std::wstring wide(std::string_view utf8) {
  const auto size = static_cast<int>(utf8.size());
  std::wstring text(utf8.size(), L'\0');  // never longer than in UTF-8
  const int length = MultiByteToWideChar(CP_UTF8, 0, utf8.data(), size, text.data(), size);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::string narrow(std::wstring_view utf16) {
  const auto size = static_cast<int>(utf16.size());
  std::string text(3 * utf16.size(), '\0');
  const int length = WideCharToMultiByte(CP_UTF8, 0, utf16.data(), size, text.data(),
                                         static_cast<int>(text.size()), nullptr, nullptr);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

HANDLE standard_handle(int number) {
  const HANDLE none = INVALID_HANDLE_VALUE;
  if (number < 0 || number > 2) return none;
  const HANDLE handle = GetStdHandle(STD_INPUT_HANDLE - static_cast<DWORD>(number));
  return handle == nullptr ? none : handle;
}

}  // namespace depute::platform
