#include "platform/process_tree.h"

#include <sys/wait.h>
#include <unistd.h>

namespace depute::platform {

bool has_left_group(ProcessId id) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         getpgid(static_cast<pid_t>(id)) != getpgrp();
}

void reap(ProcessId id) {
  waitpid(static_cast<pid_t>(id), nullptr, WNOHANG);
}

}  // namespace depute::platform
