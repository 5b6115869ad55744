#include "support/process/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "support/clean_up.h"

namespace depute {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_stream_bytes = std::size_t{1} << 16;  // of input and output of run_program()

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> lines;
  for (char** line = environ; line != nullptr && *line != nullptr; ++line) lines.emplace_back(*line);
  return lines;
}

// Appends what can be read. Returns false at the end of the stream.
bool read_some(int descriptor, std::string& text) {
  std::array<char, 1 << 12> buffer;
  const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  const std::size_t room = max_stream_bytes - text.size();
  text.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
  return count > 0;
}

// Waits until the program ends, and kills it if it does not end in time. Reads its output on the way.
void wait_for(pid_t pid, int output, Clock::time_point last, std::string& text) {
  bool is_open = true;
  while (is_open && Clock::now() < last) {
    pollfd end = {output, POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(last - Clock::now());
    if (poll(&end, 1, static_cast<int>(std::max(left, 0ms).count())) > 0) is_open = read_some(output, text);
  }
  while (!has_ended(pid) && Clock::now() < last) std::this_thread::sleep_for(100us);
  if (!has_ended(pid)) ::kill(pid, SIGKILL);
}

int exit_code_of(pid_t pid) {
  int status = 0;
  pid_t reaped = 0;
  do reaped = waitpid(pid, &status, 0);
  while (reaped < 0 && errno == EINTR);
  if (reaped < 0) return -1;  // a process that ignores SIGCHLD does not learn it
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Failure not_started(const std::string& program, int reason) {
  return failure("run", program,
                 reason == ENOENT ? "there is no such program on PATH" : std::strerror(reason));
}

}  // namespace

void close_end(int& descriptor) {
  if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

Pipe::~Pipe() {
  close_end(ours);
  close_end(theirs);
}

bool Pipe::open_from_program() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  ours = ends[0];
  theirs = ends[1];
  return fcntl(ours, F_SETFL, O_NONBLOCK) == 0;
}

bool Pipe::open_to_program() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  ours = ends[0];
  theirs = ends[1];
  return true;
}

Spawn::Spawn() {
  posix_spawn_file_actions_init(&actions_);
  posix_spawnattr_init(&attributes_);
}

Spawn::~Spawn() {
  posix_spawn_file_actions_destroy(&actions_);
  posix_spawnattr_destroy(&attributes_);
}

void Spawn::put(int descriptor, int standard) {
  posix_spawn_file_actions_adddup2(&actions_, descriptor, standard);
}

void Spawn::put_nowhere(int standard) {
  posix_spawn_file_actions_addopen(&actions_, standard, "/dev/null", O_WRONLY, 0);
}

void Spawn::lead_group() {
  posix_spawnattr_setpgroup(&attributes_, 0);
  flags_ |= POSIX_SPAWN_SETPGROUP;
}

void Spawn::enter(const std::string& folder) {
  posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
}

int Spawn::run(pid_t& pid, std::vector<std::string> words, std::vector<std::string> environment) {
  posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
  sigset_t all{};
  sigset_t none{};
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes_, &all);
  posix_spawnattr_setsigmask(&attributes_, &none);
  posix_spawnattr_setflags(&attributes_, flags_);
  return posix_spawnp(&pid, words[0].c_str(), &actions_, &attributes_, pointers(words).data(),
                      pointers(environment).data());
}

void limit_files(pid_t pid, std::uint64_t max_bytes) {
  const rlimit size{max_bytes, max_bytes};
  const rlimit no_core{0, 0};
  prlimit(pid, RLIMIT_FSIZE, &size, nullptr);
  prlimit(pid, RLIMIT_CORE, &no_core, nullptr);
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

Result<Ended> run_program(const std::vector<std::string>& words, std::string_view input,
                          const ProgramLimits& limits) {
  const auto last = Clock::now() + limits.time;
  Pipe in;
  Pipe out;
  if (!in.open_to_program() || !out.open_from_program()) return not_started(words[0], errno);
  // The socket holds the whole input, so that writing it never waits for the program.
  if (input.size() > max_stream_bytes) return not_started(words[0], E2BIG);
  if (::send(in.ours, input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(input.size()))
    return not_started(words[0], errno);
  Spawn program;
  program.put(in.theirs, STDIN_FILENO);
  program.put(out.theirs, STDOUT_FILENO);
  program.put(out.theirs, STDERR_FILENO);
  pid_t pid = -1;
  CleanUp killing;
  {
    const auto held = delay_signals();
    if (const int reason = program.run(pid, words, own_environment()); reason != 0)
      return not_started(words[0], reason);
    killing = CleanUp([pid] { ::kill(pid, SIGKILL); });
  }
  limit_files(pid, limits.max_file_bytes);
  close_end(in.ours);
  close_end(out.theirs);
  Ended ended;
  wait_for(pid, out.ours, last, ended.output);
  killing = {};  // before the system reuses the process id
  ended.code = exit_code_of(pid);
  return ended;
}

}  // namespace depute
