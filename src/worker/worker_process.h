// A worker process. A line is written to it and a line is read from it; any other behavior of the worker
// leads to an error in bounded time.
//
//   const WorkerFolders folders{.whole = "/tmp/depute-worker-x", .work = "/tmp/depute-worker-x/work"};
//   TRY(auto process, WorkerProcess::start(program, folders, limits));
//   TRY(std::string answer, process->ask(R"({"call": "describe", "protocol": 3})"));
//
// The process runs in a group of its own and inherits no open files. Its environment is PATH, LD_LIBRARY_PATH
// and a language; its own folder is working directory, HOME and TMPDIR, and all that it may write, unless
// WorkerOptions lift that (sandbox.h). Destroying this object ends the whole
// group, and the processes that left it (process_tree.h). If this process is killed, they end too, and the
// folders are removed.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "depute/compiler/worker.h"
#include "depute/program/result.h"
#include "platform/child_process.h"
#include "support/clean_up.h"
#include "worker/process_tree.h"

namespace depute {

struct WorkerFolders {
  std::string whole;  // used by this worker alone; removed if this process is killed
  std::string work;   // inside `whole`: the worker's working directory
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

  // Writes the line and returns the next line of the worker. After an error the process is gone.
  Result<std::string> ask(std::string_view line);
  // Returns the next line of the same answer.
  Result<std::string> next_line();

  // Ends the worker and returns a failure with the last lines of its standard error.
  Failure fail(WorkerFault fault, std::string message, std::string_view hint = {});

 private:
  using Clock = std::chrono::steady_clock;

  WorkerProcess(std::string program, WorkerFolders folders, const WorkerOptions& limits)
      : program_(std::move(program)), folders_(std::move(folders)), limits_(limits) {}
  Status spawn();
  void start_guard();
  void end_guard();
  Result<std::string> wait_for_line(std::string_view to_write);
  void write_some(std::string_view& text);
  bool read_answer();
  void read_words();
  bool take_line(std::string& line);
  Failure ended();
  Status check_space();
  void end();

  std::string program_;
  WorkerFolders folders_;
  WorkerOptions limits_;
  platform::ProcessId id_ = 0;     // 0: it has ended
  OwnChild own_, own_guard_;       // registrations of the two processes
  platform::ProcessId guard_ = 0;  // shell that ends the worker if this process cannot
  platform::File guard_in_;        // receives only the worker's process id
  CleanUp end_;                    // ends the worker when a signal ends this process
  platform::File in_, out_, err_;  // our ends of its standard streams
  std::string answer_;             // output read so far; bytes before taken_ are consumed
  std::size_t taken_ = 0;
  std::size_t searched_ = 0;  // no line ends before this position
  std::string words_;         // the last bytes of its standard error
};

}  // namespace depute
