// macOS opens descriptors and marks them as not inherited in two steps: a program that another thread starts in between
// has them closed by close_other_files().
#include "platform/child_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/posix/system_parts.h"

namespace depute::platform {
namespace {

bool keep_from_programs(const std::array<int, 2>& ends) {
  return fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0;
}

}  // namespace

const int no_signal_flag = 0;  // an option of the socket

bool open_pipe(std::array<int, 2>& ends) {
  return pipe(ends.data()) == 0 && keep_from_programs(ends);
}

bool open_socket_pair(std::array<int, 2>& ends) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0 || !keep_from_programs(ends)) return false;
  const int yes = 1;
  return setsockopt(ends[0], SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof(yes)) == 0 &&
         setsockopt(ends[1], SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof(yes)) == 0;
}

void close_other_files(posix_spawn_file_actions_t&, short& flags) {
  flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
}

void limit_files(ProcessId, std::uint64_t) {}  // macOS sets limits of the calling process alone

}  // namespace depute::platform
