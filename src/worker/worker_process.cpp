#include "worker/worker_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "depute/program/result.h"
#include "platform/file_system.h"
#include "platform/sandbox.h"
#include "platform/signals.h"
#include "support/clean_up.h"
#include "support/try.h"
#include "worker/answer_limits.h"

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
    bytes += platform::info_of_name(entry->path().string()).value_or(platform::FileInfo()).bytes_on_disk;
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
  auto in = platform::open_pipe_to_program();
  auto out = platform::open_pipe_from_program();
  auto err = platform::open_pipe_from_program();
  for (const auto* pipe : {&in, &out, &err})
    if (!*pipe) return fail(WorkerFault::NotStarted, pipe->error().message());
  const platform::ProgramStart worker = {.words = {program_},
                                         .environment = environment_of(folders_.work),
                                         .streams = {&in->theirs, &out->theirs, &err->theirs},
                                         .leads_group = true,
                                         .folder = folders_.work};
  const auto held = delay_signals();
  platform::Expected<platform::ProcessId> started;
  if (limits_.sandbox) {
    try {
      std::thread([&] {
        platform::enter_sandbox(folders_.work);
        started = platform::start_program(worker);
      }).join();
    } catch (const std::system_error& error) {
      started = platform::Unexpected{error.code()};
    }
  } else {
    started = platform::start_program(worker);
  }
  if (!started) return fail(WorkerFault::NotStarted, started.error().message());
  id_ = *started;
  own_ = OwnChild(id_);
  end_ = CleanUp([group = id_, folder = folders_.work] {
    platform::kill_group(group);
    end_processes_of(folder);
  });
  start_guard();  // runs while the worker is loading
  if (guard_in_.is_open()) std::ignore = platform::send_some(guard_in_, fmt::format("{}\n", id_));
  platform::limit_files(id_, limits_.max_bytes);
  in_ = std::move(in->ours);
  out_ = std::move(out->ours);
  err_ = std::move(err->ours);
  return {};
}

// Starts a shell that reads until this process ends for any reason. The shell then kills the worker's group, twice
// the processes that left the group, and removes its folders, also if they were renamed. Without a shell, a
// worker exits at the end of its input.
void WorkerProcess::start_guard() {
  auto in = platform::open_pipe_to_program();
  if (!in) return;
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
  const auto started = platform::start_program({.words = {"/bin/sh", "-c", script, "sh", folders_.whole},
                                                .environment = std::vector<std::string>{"PATH=/usr/bin:/bin"},
                                                .streams = {&in->theirs, nullptr, nullptr},
                                                .leads_group = true,
                                                .folder = folders_.whole});
  if (!started) return;
  guard_ = *started;
  own_guard_ = OwnChild(guard_);
  guard_in_ = std::move(in->ours);
}

void WorkerProcess::end_guard() {
  if (guard_ != 0) {
    platform::kill_process(guard_);
    platform::wait_for_end(std::exchange(guard_, 0));
  }
  own_guard_ = {};
  guard_in_ = {};
}

WorkerProcess::~WorkerProcess() {
  end();
}

// Closes the worker's input, so that it exits. If it does not, it is killed with all processes it started.
void WorkerProcess::end() {
  in_ = {};
  if (id_ != 0) {
    const auto last = Clock::now() + time_to_end;
    while (!platform::ending_of(id_) && Clock::now() < last) std::this_thread::sleep_for(100us);
    platform::kill_group(id_);
    end_guard();  // before the system reuses the process id
    end_ = {};
    platform::wait_for_end(std::exchange(id_, 0));
    own_ = {};
    end_processes_of(folders_.work);
  }
  end_guard();
  out_ = {};
  err_ = {};
}

Failure WorkerProcess::fail(WorkerFault fault, std::string message, std::string_view hint) {
  if (id_ != 0) {
    platform::kill_group(id_);
    read_words();
    end();
  }
  Failure made = failure(fmt::format("worker.{}", fault_id(fault)), program_, message, hint);
  made.error().details = last_lines(words_);
  return made;
}

Failure WorkerProcess::ended() {
  const auto last = Clock::now() + 1s;  // time between closing its output and exiting
  while (!platform::ending_of(id_) && Clock::now() < last) std::this_thread::sleep_for(1ms);
  const std::optional<platform::Ending> ending = platform::ending_of(id_);
  if (!ending) return fail(WorkerFault::Ended, "it closed its standard output before answering");
  read_words();
  if (ending->has_exited)
    return fail(WorkerFault::Ended, fmt::format("it exited with code {} before answering", ending->number));
  if (ending->number == platform::file_limit_signal)
    return fail(WorkerFault::TooLarge,
                fmt::format("it wrote a file of more than {}", size_text(limits_.max_bytes)),
                "--worker-space allows more");
  return fail(WorkerFault::Crashed, fmt::format("it was killed by signal {} ({})", ending->number,
                                                platform::signal_description(ending->number)));
}

Result<std::string> WorkerProcess::ask(std::string_view line) {
  if (id_ == 0) return fail(WorkerFault::Ended, "it is gone");
  if (answer_.size() > taken_)
    return fail(WorkerFault::BadAnswer,
                fmt::format("it wrote an unexpected answer: '{}'", printable(answer_.substr(taken_, 80))));
  return wait_for_line(std::string(line) + "\n");
}

Result<std::string> WorkerProcess::next_line() {
  if (id_ == 0) return fail(WorkerFault::Ended, "it is gone");
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
    std::array ends = {platform::Awaited{.file = &out_}, platform::Awaited{.file = &err_},
                       platform::Awaited{.file = to_write.empty() ? nullptr : &in_, .to_write = true}};
    platform::wait_for_any(ends, between_looks);
    if (ends[2].is_ready) write_some(to_write);
    if (ends[1].is_ready) read_words();
    if (ends[0].is_ready) is_open = read_answer();
    const auto now = Clock::now();
    if (now < look) continue;
    look = now + between_looks;
    TRY_STATUS(check_space());
    // A child process of the worker may keep its output open.
    if (is_open && !ends[0].is_ready && platform::ending_of(id_))
      is_open = read_answer() && answer_.find('\n') != answer_.npos;
    if (now >= last)
      return fail(WorkerFault::TimedOut, fmt::format("it did not answer within {} s", limits_.seconds),
                  "--worker-time allows more");
  }
}

void WorkerProcess::write_some(std::string_view& text) {
  // A worker that no longer reads: its output so far is still read.
  text.remove_prefix(platform::send_some(in_, text).value_or(text.size()));
}

// Returns false at the end. Reads a limited amount, so that a flood of output cannot delay the time check.
bool WorkerProcess::read_answer() {
  std::array<char, 1 << 16> buffer;
  // Growing a long answer step by step would use a multiple of its memory.
  if (answer_.size() > max_answer_bytes / 64) answer_.reserve(max_answer_bytes + buffer.size());
  for (int i = 0; i < 16 && answer_.size() <= max_answer_bytes; ++i) {
    const auto count = out_.read(std::as_writable_bytes(std::span(buffer)));
    if (!count) return count.error() == std::errc::operation_would_block;
    if (*count == 0) return false;
    answer_.append(buffer.data(), *count);
    if (*count < buffer.size()) return true;
  }
  return true;
}

void WorkerProcess::read_words() {
  std::array<char, 1 << 16> buffer;
  for (int i = 0; i < 16 && err_.is_open(); ++i) {
    const auto count = err_.read(std::as_writable_bytes(std::span(buffer)));
    if (!count) return;
    if (*count == 0) {
      err_ = {};
      return;
    }
    words_.append(buffer.data(), *count);
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
