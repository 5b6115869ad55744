#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <string>

#include "platform/posix/system_parts.h"

namespace depute::platform {

// One action for each open file: musl has none for all. A file that another thread has closed by then is no error.
void close_other_files(posix_spawn_file_actions_t& actions, short&) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename().string();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number > STDERR_FILENO) posix_spawn_file_actions_addclose(&actions, number);
  }
}

}  // namespace depute::platform
