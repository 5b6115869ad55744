// Child processes, and pipes to their standard streams.
//
//   auto out = platform::open_pipe_from_program();
//   const platform::ProgramStart start = {.words = {"curl"}, .streams = {nullptr, &out->theirs}};
//   auto child = platform::start_program(start);
//   platform::kill_process(*child);
//   const platform::Ending ending = platform::wait_for_end(*child);
//
// A started program inherits no files but its streams, and all signals have their default effect in it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/error.h"
#include "platform/file.h"

namespace depute::platform {

struct Pipe {
  File ours, theirs;
};

Expected<Pipe>
open_pipe_from_program();  // reading does not wait: it fails with std::errc::operation_would_block
Expected<Pipe> open_pipe_to_program();  // holds 64 KiB; write with send_some()

// Writes what fits into the pipe now. Returns the number of bytes. A reader that has gone is an error, and no signal.
Expected<std::size_t> send_some(const File& pipe, std::string_view text);

// One stream that wait_for_any() waits for. A closed file is never ready.
struct Awaited {
  const File* file = nullptr;
  bool to_write = false;
  bool is_ready = false;  // set by wait_for_any(); also true if the other end is closed
};
void wait_for_any(std::span<Awaited> streams, std::chrono::milliseconds time);

using ProcessId = std::int64_t;

struct ProgramStart {
  std::vector<std::string> words;  // the first is a path, or a name that PATH has
  std::optional<std::vector<std::string>> environment = std::nullopt;  // "NAME=value"; without it, ours
  std::array<const File*, 3> streams = {};  // standard streams; nullptr: what is written is discarded
  bool leads_group = false;                 // of processes; by default, it is in our group
  std::string folder = {};                  // working directory; empty: ours
};
Expected<ProcessId> start_program(const ProgramStart& start);

// Limits the size of each file that the process writes, and disables core dumps. A program that runs already can have
// written more.
void limit_files(ProcessId id, std::uint64_t max_bytes);
void kill_process(ProcessId id);
void kill_group(ProcessId leader);

struct Ending {
  bool has_exited = false;
  int number = 0;  // exit code; of a process that has not exited, the signal that killed it

  int code() const { return has_exited ? number : 128 + number; }  // as shells have it
};
// How a child ended; nullopt while it runs. Its id stays reserved, so no other process can have it.
std::optional<Ending> ending_of(ProcessId id);
// Waits for the child's end, and releases its id. The code is -1 if the system does not tell.
Ending wait_for_end(ProcessId id);

}  // namespace depute::platform
