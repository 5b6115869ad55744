#include "platform/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include "platform/posix/system_parts.h"

namespace depute::platform {

bool fill_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return false;
  }
  return true;
}

bool is_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) != 0;
}

Expected<File> take_standard_output() {
  const int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (output < 0) return Unexpected{last_error()};
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return File(output);
}

void write_to_standard_error(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace depute::platform
