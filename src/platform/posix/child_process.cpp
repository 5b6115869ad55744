#include "platform/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "platform/posix/system_parts.h"

extern char** environ;

namespace depute::platform {
namespace {

// Takes the texts' addresses: they must outlive the result.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

// The attributes and file actions of one posix_spawn() call.
struct Spawn {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;

  Spawn() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;
  ~Spawn() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

pid_t pid_of(ProcessId id) {
  return static_cast<pid_t>(id);
}

}  // namespace

Expected<Pipe> open_pipe_from_program() {
  std::array<int, 2> ends{};
  if (!open_pipe(ends)) return Unexpected{last_error()};
  Pipe made{File(ends[0]), File(ends[1])};
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return Unexpected{last_error()};
  return made;
}

// A socket, because writing to a closed one can return an error without raising a signal.
Expected<Pipe> open_pipe_to_program() {
  std::array<int, 2> ends{};
  if (!open_socket_pair(ends)) return Unexpected{last_error()};
  return Pipe{File(ends[0]), File(ends[1])};
}

Expected<std::size_t> send_some(const File& pipe, std::string_view text) {
  const ssize_t count =
      ::send(static_cast<int>(pipe.handle()), text.data(), text.size(), no_signal_flag | MSG_DONTWAIT);
  if (count >= 0) return static_cast<std::size_t>(count);
  if (errno == EAGAIN || errno == EINTR) return 0;
  return Unexpected{last_error()};
}

void wait_for_any(std::span<Awaited> streams, std::chrono::milliseconds time) {
  std::vector<pollfd> ends;
  for (const Awaited& each : streams)
    ends.push_back({each.file == nullptr ? -1 : static_cast<int>(each.file->handle()),
                    static_cast<short>(each.to_write ? POLLOUT : POLLIN), 0});
  ::poll(ends.data(), static_cast<nfds_t>(ends.size()), static_cast<int>(time.count()));
  for (std::size_t i = 0; i < ends.size(); ++i) streams[i].is_ready = ends[i].revents != 0;
}

Expected<ProcessId> start_program(const ProgramStart& start) {
  Spawn spawn;
  for (int number = 0; number < 3; ++number) {
    if (const File* stream = start.streams[static_cast<std::size_t>(number)])
      posix_spawn_file_actions_adddup2(&spawn.actions, static_cast<int>(stream->handle()), number);
    else
      posix_spawn_file_actions_addopen(&spawn.actions, number, "/dev/null", O_WRONLY, 0);
  }
  if (!start.folder.empty()) posix_spawn_file_actions_addchdir_np(&spawn.actions, start.folder.c_str());
  if (start.leads_group) {
    posix_spawnattr_setpgroup(&spawn.attributes, 0);
    spawn.flags |= POSIX_SPAWN_SETPGROUP;
  }
  close_other_files(spawn.actions, spawn.flags);
  sigset_t all{};
  sigset_t none{};
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&spawn.attributes, &all);
  posix_spawnattr_setsigmask(&spawn.attributes, &none);
  posix_spawnattr_setflags(&spawn.attributes, spawn.flags);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, start.words[0].c_str(), &spawn.actions, &spawn.attributes,
                                 pointers(start.words).data(),
                                 start.environment ? pointers(*start.environment).data() : environ);
  if (error != 0) return Unexpected{std::error_code(error, std::system_category())};
  return pid;
}

void kill_process(ProcessId id) {
  ::kill(pid_of(id), SIGKILL);
}

void kill_group(ProcessId leader) {
  ::kill(-pid_of(leader), SIGKILL);
}

std::optional<Ending> ending_of(ProcessId id) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return Ending{.has_exited = true, .number = -1};
  if (info.si_pid == 0) return std::nullopt;
  return Ending{.has_exited = info.si_code == CLD_EXITED, .number = info.si_status};
}

Ending wait_for_end(ProcessId id) {
  int status = 0;
  pid_t reaped = 0;
  do reaped = waitpid(pid_of(id), &status, 0);
  while (reaped < 0 && errno == EINTR);
  if (reaped < 0)
    return {.has_exited = true, .number = -1};  // a process that ignores SIGCHLD does not learn it
  if (WIFSIGNALED(status)) return {.has_exited = false, .number = WTERMSIG(status)};
  return {.has_exited = true, .number = WEXITSTATUS(status)};
}

}  // namespace depute::platform
