#include "platform/child_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/posix/system_parts.h"

namespace depute::platform {

const int no_signal_flag = MSG_NOSIGNAL;

bool open_pipe(std::array<int, 2>& ends) {
  return pipe2(ends.data(), O_CLOEXEC) == 0;
}

bool open_socket_pair(std::array<int, 2>& ends) {
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0;
}

void limit_files(ProcessId id, std::uint64_t max_bytes) {
  const rlimit size{max_bytes, max_bytes};
  const rlimit no_core{0, 0};
  prlimit(static_cast<pid_t>(id), RLIMIT_FSIZE, &size, nullptr);
  prlimit(static_cast<pid_t>(id), RLIMIT_CORE, &no_core, nullptr);
}

}  // namespace depute::platform
