// Declares what the files in posix/ call and each system does in its own way: linux/ has the functions for Linux, macos/ those for macOS.
//
//   if (!open_socket_pair(ends)) return Unexpected{last_error()};
#pragma once

#include <spawn.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace depute::platform {

inline std::error_code last_error() {
  return {errno, std::system_category()};
}

std::int64_t modified_time(const struct stat& info);  // nanoseconds since 1970

// Flags of mmap() that read the whole file at once.
extern const int whole_file_flag;

// Open two descriptors that no other program inherits.
bool open_pipe(std::array<int, 2>& ends);
bool open_socket_pair(std::array<int, 2>& ends);
// Flags of send(), without which writing to a closed socket raises a signal.
extern const int no_signal_flag;

// Closes all files but the standard streams in the started program.
void close_other_files(posix_spawn_file_actions_t& actions, short& flags);

}  // namespace depute::platform
