// Backends that live elsewhere: programs that speak the protocol of docs/backend-protocol.md.
//
//   DEPUTE_TRY(BackendEntry entry, worker_backend("chip", "/opt/chip/bin/depute-backend-chip"));
//   DEPUTE_TRY_STATUS(compiler.add(std::move(entry)));
//
// A worker is asked as any backend is, and cannot harm who asks: what it does instead of answering - it
// crashes, hangs, lies about its results - is an error with a code of its own, `worker.crashed` and so on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "depute/compiler.h"
#include "depute/registry.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

// What this library speaks.
inline constexpr int worker_protocol = 2;

enum class WorkerFault : std::uint8_t {
  NotStarted,  // there is no such program, or the system does not start it
  Version,     // it speaks another protocol
  Crashed,     // a signal ended it
  Ended,       // it ended by itself before it had answered
  TimedOut,
  TooLarge,   // more bytes than WorkerOptions allow, or a line longer than max_worker_answer_bytes
  BadAnswer,  // what it says is no answer, or cannot be
  Refused,    // its own error, in its own words
};

// "timed-out": the id as it is printed, behind "worker.".
std::string_view fault_id(WorkerFault fault);

struct WorkerOptions {
  int seconds = 600;                                 // for each answer
  std::uint64_t max_bytes = std::uint64_t{8} << 30;  // that it may write into its folder
  bool keeps_input = true;  // after a failure its input stays in a folder for `depute replay`
};

// "depute-backend-NAME" in a folder of PATH, as an absolute path; empty when there is none, or when the name
// is no name of a file.
std::string find_worker(std::string_view name);

// Runs the program, asks what it is, and gives a backend that asks it from now on. The process ends with the
// entry. `name` is what --backend and reports call it.
Result<BackendEntry> worker_backend(std::string_view name, const std::string& program,
                                    const WorkerOptions& options = {});

// Adds what requests ask for and the compiler does not have: workers that they name by their program, and
// those that find_worker() finds. Requests then name the backends.
Status add_workers(Compiler& compiler, std::vector<BackendRequest>& requests,
                   const WorkerOptions& options = {});

// One thing that a worker was tried with; without a fault it held.
struct WorkerCheck {
  std::string what;
  std::optional<Diagnostic> fault;
};

// Tries a worker: what every one must do, and what it makes of the models (.pt2 or .ir), which it lowers
// twice and on several processes to the same bytes. Fails where it cannot be tried at all.
Result<std::vector<WorkerCheck>> test_worker(const std::string& name, const std::string& program,
                                             const std::vector<std::string>& models,
                                             const WorkerOptions& options = {});

// What came of asking again what a worker has failed at: the folder is one that an error named.
Result<std::string> replay_worker(const std::string& folder, const WorkerOptions& options = {});

}  // namespace depute

#pragma GCC visibility pop
