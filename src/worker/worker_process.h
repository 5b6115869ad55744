// A worker as a process: a line is written to it, a line is read from it, and whatever it does instead ends
// in an error in bounded time.
//
//   TRY(auto process, WorkerProcess::start(program, folder, limits));
//   TRY(std::string answer, process->ask(R"({"call": "describe", "protocol": 1})"));
//
// The process is in a group of its own and gets nothing of ours: no open files, no environment but PATH,
// LD_LIBRARY_PATH and a language, its own folder as working directory, HOME and TMPDIR. When this object
// goes, the whole group is ended.
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

class WorkerProcess {
 public:
  // `program` is absolute; `folder` is where it works and may write.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& program, const std::string& folder,
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

  WorkerProcess(std::string program, std::string folder, const WorkerOptions& limits)
      : program_(std::move(program)), folder_(std::move(folder)), limits_(limits) {}
  Status spawn();
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
  std::string folder_;
  WorkerOptions limits_;
  pid_t pid_ = -1;
  int slot_ = -1;                      // where end_worker_processes() finds it
  int in_ = -1, out_ = -1, err_ = -1;  // our ends of its standard streams
  std::string answer_;                 // read, and not taken yet
  std::size_t searched_ = 0;           // bytes of it without an end of a line
  std::string words_;                  // the last of what it wrote to standard error
};

// Ends all workers there are. Safe to call from a signal handler, for a process that ends.
void end_worker_processes();

// The bytes that files below a folder take on the disk.
std::uint64_t bytes_on_disk(const std::string& folder);

}  // namespace depute
