// Backends in separate programs (workers), which speak the protocol of docs/backend-protocol.md.
//
//   DEPUTE_TRY(BackendEntry entry, worker_backend("chip", "/opt/chip/bin/depute-backend-chip"));
//   DEPUTE_TRY_STATUS(compiler.add(std::move(entry)));
//
// The compiler uses a worker like any backend and is protected from its failures. If a worker crashes, hangs
// or sends invalid results, the call fails with an error of its own code: `worker.crashed` and so on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/backend/registry.h"
#include "depute/compiler/compiler.h"
#include "depute/program/result.h"

namespace depute {

// Protocol version of this library.
inline constexpr int worker_protocol = 3;

enum class WorkerFault : std::uint8_t {
  NotStarted,  // the program does not exist or cannot be started
  Version,     // the worker speaks another protocol version
  Crashed,     // the worker was ended by a signal
  Ended,       // the worker exited before it answered
  TimedOut,
  TooLarge,   // more bytes than WorkerOptions allow, or an answer above the limits of the protocol
  BadAnswer,  // the answer is malformed or inconsistent
  Refused,    // the worker reported an error of its own
};

// Id as printed behind "worker.": "timed-out".
DEPUTE_API std::string_view fault_id(WorkerFault fault);

struct WorkerOptions {
  int seconds = 600;                                 // timeout per answer
  std::uint64_t max_bytes = std::uint64_t{8} << 30;  // that the worker may write into its folder
  // Without network, and writing below its folder and in /dev alone, as far as the kernel can enforce that.
  bool sandbox = true;
  bool keeps_input = true;  // after a failure, keep the input in a folder for `depute replay`
};

// Searches PATH for "depute-backend-NAME". Returns its absolute path; empty if there is none or `name` is no
// valid file name.
DEPUTE_API std::string find_worker(std::string_view name);

// Starts the program, queries its description, and returns a backend that forwards to it. The process ends
// with the entry. `name` is the name for --backend and reports.
DEPUTE_API Result<BackendEntry> worker_backend(std::string_view name, const std::string& program,
                                               const WorkerOptions& options = {});

// Adds requested backends that the compiler does not have: workers that requests give as a program, and
// workers found by find_worker(). Sets the names of these requests.
DEPUTE_API Status add_workers(Compiler& compiler, std::vector<BackendRequest>& requests,
                              const WorkerOptions& options = {});

// One test of a worker; passed if there is no fault.
struct WorkerCheck {
  std::string what;
  std::optional<Diagnostic> fault;
};

// Tests a worker: the requirements of the protocol, and lowering of the models (.pt2 or .ir), twice and in
// several processes, with equal bytes each time. Fails only if the worker cannot be tested at all.
DEPUTE_API Result<std::vector<WorkerCheck>> test_worker(const std::string& name, const std::string& program,
                                                        const std::vector<std::string>& models,
                                                        const WorkerOptions& options = {});

// Sends a request that a worker failed at to `program`; `folder` is the folder named in the error. Returns the
// answer as text. If `program` is empty, nothing is run, and the error names the program that failed. The request
// may name weights in files of the folder and in `models`, no others.
DEPUTE_API Result<std::string> replay_worker(const std::string& folder, const std::string& program,
                                             const std::vector<std::string>& models = {},
                                             const WorkerOptions& options = {});

// --- the process, for command lines of your own; run_command_line() calls these

// Prepares the process for one short run: memory is not returned before the end, and a signal that ends the process
// first removes temporary files and ends workers. Processes that workers leave behind become children of this process,
// which ends them. Call it before any other thread is started.
DEPUTE_API void set_up_process();
// Removes temporary files and ends idle workers, before the process ends without destroying its compiler.
DEPUTE_API void clean_up_process();
// Calls clean_up_process() and ends the process by the signal.
[[noreturn]] DEPUTE_API void end_process(int signal);

}  // namespace depute
