#include "worker/worker_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "depute/program/result.h"
#include "support/clean_up.h"
#include "support/process/spawn.h"
#include "support/try.h"
#include "worker/answer_limits.h"
#include "worker/sandbox.h"

namespace depute {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto between_looks = 50ms;      // interval for checks of a silent worker
constexpr auto time_to_end = 200ms;       // for a worker to exit after its input is closed
constexpr std::size_t kept_words = 4096;  // bytes kept of standard error
constexpr std::size_t told_lines = 8;

std::vector<std::string> environment_of(const std::string& folder) {
  std::vector<std::string> lines = {"LANG=C.UTF-8", "HOME=" + folder, "TMPDIR=" + folder};
  for (const char* name : {"PATH", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(name)) lines.push_back(fmt::format("{}={}", name, value));
  }
  return lines;
}

std::string size_text(std::uint64_t bytes) {
  return bytes >= (1U << 20) ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} bytes", bytes);
}

// Returns the last lines that are not empty.
std::vector<std::string> last_lines(std::string_view words) {
  std::vector<std::string> lines;
  while (!words.empty() && lines.size() < told_lines) {
    const std::size_t end = words.rfind('\n');
    std::string_view line = end == words.npos ? words : words.substr(end + 1);
    if (!line.empty())
      lines.push_back(fmt::format("last lines of its standard error: {}", line.substr(0, 400)));
    words = end == words.npos ? std::string_view() : words.substr(0, end);
  }
  std::ranges::reverse(lines);
  return lines;
}

}  // namespace

std::uint64_t bytes_on_disk(const std::string& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    struct stat info{};
    if (lstat(entry->path().c_str(), &info) == 0) bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
  }
  return bytes;
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& program,
                                                            const WorkerFolders& folders,
                                                            const WorkerOptions& limits) {
  std::unique_ptr<WorkerProcess> process(new WorkerProcess(program, folders, limits));
  TRY_STATUS(process->spawn());
  return process;
}

Status WorkerProcess::spawn() {
  Pipe in;
  Pipe out;
  Pipe err;
  if (!in.open_to_program() || !out.open_from_program() || !err.open_from_program())
    return fail(WorkerFault::NotStarted, std::strerror(errno));
  Spawn worker;
  worker.put(in.theirs, STDIN_FILENO);
  worker.put(out.theirs, STDOUT_FILENO);
  worker.put(err.theirs, STDERR_FILENO);
  worker.lead_group();
  worker.enter(folders_.work);
  const auto held = delay_signals();
  int reason = 0;
  const auto run = [&] { reason = worker.run(pid_, {program_}, environment_of(folders_.work)); };
  if (limits_.sandbox) {
    try {
      std::thread([&] {
        enter_sandbox(folders_.work);
        run();
      }).join();
    } catch (const std::system_error& error) {
      reason = error.code().value();
    }
  } else {
    run();
  }
  if (reason != 0) {
    pid_ = -1;
    return fail(WorkerFault::NotStarted, std::strerror(reason));
  }
  own_ = OwnChild(pid_);
  end_ = CleanUp([group = pid_, folder = folders_.work] {
    ::kill(-group, SIGKILL);
    end_processes_of(folder);
  });
  start_guard();  // runs while the worker is loading
  if (guard_in_ >= 0) {
    const std::string group = fmt::format("{}\n", pid_);
    [[maybe_unused]] const ssize_t sent = ::send(guard_in_, group.data(), group.size(), MSG_NOSIGNAL);
  }
  limit_files(pid_, limits_.max_bytes);
  in_ = std::exchange(in.ours, -1);
  out_ = std::exchange(out.ours, -1);
  err_ = std::exchange(err.ours, -1);
  return {};
}

// Starts a shell that reads until this process ends for any reason. The shell then kills the worker's group, twice
// the processes that left the group, and removes its folders, also if they were renamed. Without a shell, a
// worker exits at the end of its input.
void WorkerProcess::start_guard() {
  Pipe in;
  if (!in.open_to_program()) return;
  Spawn guard;
  guard.put(in.theirs, STDIN_FILENO);
  guard.put_nowhere(STDOUT_FILENO);
  guard.put_nowhere(STDERR_FILENO);
  guard.lead_group();
  guard.enter(folders_.whole);
  const std::string script = R"sh(read -r group
read -r rest
[ -n "$group" ] && kill -s KILL -- "-$group"
here=$(pwd -P)
cd /
for round in 1 2; do
  for file in $(grep -lsF "TMPDIR=$1/work" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    kill -s KILL "${pid%/environ}"
  done
done
rm -rf -- "$1" "$here")sh";
  if (guard.run(guard_, {"/bin/sh", "-c", script, "sh", folders_.whole}, {"PATH=/usr/bin:/bin"}) != 0) {
    guard_ = -1;
    return;
  }
  own_guard_ = OwnChild(guard_);
  guard_in_ = std::exchange(in.ours, -1);
}

void WorkerProcess::end_guard() {
  if (guard_ > 0) {
    ::kill(guard_, SIGKILL);
    waitpid(guard_, nullptr, 0);
    guard_ = -1;
  }
  own_guard_ = {};
  close_end(guard_in_);
}

WorkerProcess::~WorkerProcess() {
  end();
}

// Closes the worker's input, so that it exits. If it does not, it is killed with all processes it started.
void WorkerProcess::end() {
  close_end(in_);
  if (pid_ > 0) {
    const auto last = Clock::now() + time_to_end;
    while (!has_ended(pid_) && Clock::now() < last) std::this_thread::sleep_for(100us);
    ::kill(-pid_, SIGKILL);
    end_guard();  // before the system reuses the process id
    end_ = {};
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
    own_ = {};
    end_processes_of(folders_.work);
  }
  end_guard();
  close_end(out_);
  close_end(err_);
}

Failure WorkerProcess::fail(WorkerFault fault, std::string message, std::string_view hint) {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    read_words();
    end();
  }
  Failure made = failure(fmt::format("worker.{}", fault_id(fault)), program_, message, hint);
  made.error().details = last_lines(words_);
  return made;
}

Failure WorkerProcess::ended() {
  const auto last = Clock::now() + 1s;  // time between closing its output and exiting
  while (!has_ended(pid_) && Clock::now() < last) std::this_thread::sleep_for(1ms);
  if (!has_ended(pid_)) return fail(WorkerFault::Ended, "it closed its standard output before answering");
  read_words();
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (info.si_code == CLD_EXITED)
    return fail(WorkerFault::Ended, fmt::format("it exited with code {} before answering", info.si_status));
  if (info.si_status == SIGXFSZ)
    return fail(WorkerFault::TooLarge,
                fmt::format("it wrote a file of more than {}", size_text(limits_.max_bytes)),
                "--worker-space allows more");
  return fail(WorkerFault::Crashed,
              fmt::format("it was killed by signal {} ({})", info.si_status, strsignal(info.si_status)));
}

Result<std::string> WorkerProcess::ask(std::string_view line) {
  if (pid_ < 0) return fail(WorkerFault::Ended, "it is gone");
  if (answer_.size() > taken_)
    return fail(WorkerFault::BadAnswer,
                fmt::format("it wrote an unexpected answer: '{}'", printable(answer_.substr(taken_, 80))));
  return wait_for_line(std::string(line) + "\n");
}

Result<std::string> WorkerProcess::next_line() {
  if (pid_ < 0) return fail(WorkerFault::Ended, "it is gone");
  return wait_for_line({});
}

Result<std::string> WorkerProcess::wait_for_line(std::string_view to_write) {
  const auto last = Clock::now() + std::chrono::seconds(limits_.seconds);
  auto look = Clock::now() + between_looks;
  bool is_open = true;
  std::string line;
  while (true) {
    if (take_line(line)) return line;
    if (answer_.size() > max_answer_bytes)
      return fail(WorkerFault::TooLarge,
                  fmt::format("its answer is longer than {}", size_text(max_answer_bytes)));
    if (!is_open) return ended();
    std::array<pollfd, 3> ends = {pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0},
                                  pollfd{to_write.empty() ? -1 : in_, POLLOUT, 0}};
    poll(ends.data(), ends.size(), static_cast<int>(between_looks / 1ms));
    if (ends[2].revents != 0) TRY_STATUS(write_some(to_write));
    if (ends[1].revents != 0) read_words();
    if (ends[0].revents != 0) is_open = read_answer();
    const auto now = Clock::now();
    if (now < look) continue;
    look = now + between_looks;
    TRY_STATUS(check_space());
    // A child process of the worker may keep its output open.
    if (is_open && ends[0].revents == 0 && has_ended(pid_))
      is_open = read_answer() && answer_.find('\n') != answer_.npos;
    if (now >= last)
      return fail(WorkerFault::TimedOut, fmt::format("it did not answer within {} s", limits_.seconds),
                  "--worker-time allows more");
  }
}

Status WorkerProcess::write_some(std::string_view& text) {
  const ssize_t count = ::send(in_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count >= 0) {
    text.remove_prefix(static_cast<std::size_t>(count));
  } else if (errno != EAGAIN && errno != EINTR) {
    text = {};  // the worker no longer reads; its output so far is still read
  }
  return {};
}

// Returns false at the end. Reads a limited amount, so that a flood of output cannot delay the time check.
bool WorkerProcess::read_answer() {
  std::array<char, 1 << 16> buffer;
  // Growing a long answer step by step would use a multiple of its memory.
  if (answer_.size() > max_answer_bytes / 64) answer_.reserve(max_answer_bytes + buffer.size());
  for (int i = 0; i < 16 && answer_.size() <= max_answer_bytes; ++i) {
    const ssize_t count = ::read(out_, buffer.data(), buffer.size());
    if (count == 0) return false;
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    answer_.append(buffer.data(), static_cast<std::size_t>(count));
    if (static_cast<std::size_t>(count) < buffer.size()) return true;
  }
  return true;
}

void WorkerProcess::read_words() {
  std::array<char, 1 << 16> buffer;
  for (int i = 0; i < 16 && err_ >= 0; ++i) {
    const ssize_t count = ::read(err_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    if (count == 0) return close_end(err_);
    words_.append(buffer.data(), static_cast<std::size_t>(count));
    if (words_.size() > kept_words) words_.erase(0, words_.size() - kept_words);
  }
}

bool WorkerProcess::take_line(std::string& line) {
  const std::size_t end = answer_.find('\n', searched_);
  if (end == answer_.npos) {
    answer_.erase(0, std::exchange(taken_, 0));
    searched_ = answer_.size();
    return false;
  }
  searched_ = end + 1;
  if (taken_ == 0 && searched_ == answer_.size()) {  // the usual case: the line is not copied
    line = std::exchange(answer_, {});
    line.pop_back();
    searched_ = 0;
    return true;
  }
  line = answer_.substr(taken_, end - taken_);
  taken_ = searched_;
  return true;
}

Status WorkerProcess::check_space() {
  if (bytes_on_disk(folders_.work) <= limits_.max_bytes) return {};
  return fail(WorkerFault::TooLarge,
              fmt::format("it wrote more than {} into its folder", size_text(limits_.max_bytes)),
              "--worker-space allows more");
}

}  // namespace depute
