// Declares what several files in windows/ need: Windows' functions, and texts and errors in the forms of both sides.
//
//   if (!DeleteFileW(wide(path).c_str())) return last_error();
#pragma once

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "platform/file.h"

namespace depute::platform {

// Returns the POSIX error with the same meaning, so that messages read as on other systems.
std::error_code error_of(DWORD code);
inline std::error_code last_error() {
  return error_of(GetLastError());
}

std::wstring wide(std::string_view utf8);
std::string narrow(std::wstring_view utf16);

inline HANDLE handle_of(const File& file) {
  return reinterpret_cast<HANDLE>(file.handle());
}
inline File file_of(HANDLE handle) {
  return File(reinterpret_cast<std::intptr_t>(handle));
}
// The handle of a standard stream: 0, 1 or 2.
HANDLE standard_handle(int number);

}  // namespace depute::platform
