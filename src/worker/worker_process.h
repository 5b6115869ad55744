// A worker as a process: a line is written to it, a line is read from it, and whatever it does instead ends
// in an error in bounded time.
//
//   TRY(auto process, WorkerProcess::start(program, {.whole = "/tmp/depute-worker-x", .work = "..."},
//   limits)); TRY(std::string answer, process->ask(R"({"call": "describe", "protocol": 2})"));
//
// The process is in a group of its own and gets nothing of ours: no open files, no environment but PATH,
// LD_LIBRARY_PATH and a language, its own folder as working directory, HOME and TMPDIR. When this object
// goes, the whole group is ended; and when this process is killed, too, with the worker's folders.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "depute/result.h"
#include "depute/worker.h"

namespace depute {

// The longest line that a worker may answer: a million nodes need a tenth of it.
inline constexpr std::size_t max_worker_answer_bytes = std::size_t{1} << 26;

struct WorkerFolders {
  std::string whole;  // there for this worker alone: removed when this process is killed
  std::string work;   // in it: where the worker starts and may write
};

class WorkerProcess {
 public:
  // All paths are absolute.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& program,
                                                      const WorkerFolders& folders,
                                                      const WorkerOptions& limits);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Writes the line and waits for the next one. After an error the process is gone.
  Result<std::string> ask(std::string_view line);
  // The next line of the same answer.
  Result<std::string> next_line();

  // A failure of this worker, with its last words; ends it.
  Failure fail(WorkerFault fault, std::string message, std::string_view hint = {});

 private:
  using Clock = std::chrono::steady_clock;

  WorkerProcess(std::string program, WorkerFolders folders, const WorkerOptions& limits)
      : program_(std::move(program)), folders_(std::move(folders)), limits_(limits) {}
  Status spawn();
  void start_guard();
  void end_guard();
  Result<std::string> wait_for_line(std::string_view to_write);
  Status write_some(std::string_view& text);
  bool read_answer();
  void read_words();
  bool take_line(std::string& line);
  bool has_ended();
  Failure ended();
  Status check_space();
  void end();

  std::string program_;
  WorkerFolders folders_;
  WorkerOptions limits_;
  pid_t pid_ = -1;
  pid_t guard_ = -1;                   // ends the worker where we cannot any more
  int guard_in_ = -1;                  // nothing but the worker's number is ever written there
  int slot_ = -1;                      // where end_worker_processes() finds it
  int in_ = -1, out_ = -1, err_ = -1;  // our ends of its standard streams
  std::string answer_;                 // read, and not taken yet from taken_ on
  std::size_t taken_ = 0;
  std::size_t searched_ = 0;  // no line ends before
  std::string words_;         // the last of what it wrote to standard error
};

// Ends all workers there are. Safe to call from a signal handler, for a process that ends.
void end_worker_processes();

// The bytes that files below a folder take on the disk.
std::uint64_t bytes_on_disk(const std::string& folder);

}  // namespace depute
