// Starts other programs, with pipes as their standard streams.
//
//   const ProgramLimits limits = {.time = 10s, .max_file_bytes = 1 << 20};
//   TRY(const Ended curl, run_program({"curl", "--config", "-"}, config, limits));
//   if (curl.code != 0) return failure("cache", url, curl.output);
//
// A started program inherits no open files, and all signals have their default effect in it.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/result.h"

namespace depute {

// Closes the descriptor if it is open, and sets it to -1.
void close_end(int& descriptor);

// A pair of descriptors that no other program inherits.
struct Pipe {
  int ours = -1, theirs = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe();

  // For reading, without blocking.
  bool open_from_program();
  // A socket, because writing to a closed one returns an error without raising a signal.
  bool open_to_program();
};

// The attributes and file actions of one posix_spawn() call.
class Spawn {
 public:
  Spawn();
  ~Spawn();
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  void put(int descriptor, int standard);
  void put_nowhere(int standard);
  void lead_group();  // the program leads a process group of its own; by default, it is in ours
  void enter(const std::string& folder);

  // Starts the program words[0], a path or a name that is looked up on PATH. Returns 0 or an errno value.
  int run(pid_t& pid, std::vector<std::string> words, std::vector<std::string> environment);

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
  short flags_ = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
};

// Limits the size of each file that the process writes, and disables core dumps. A program that runs already
// can have written more.
void limit_files(pid_t pid, std::uint64_t max_bytes);

// True if a child process has ended. Does not reap it: its id stays reserved, so no other process can have it.
bool has_ended(pid_t pid);

struct ProgramLimits {
  std::chrono::milliseconds time;  // the program is killed after it
  std::uint64_t max_file_bytes;    // the program is killed by SIGXFSZ when a file becomes larger, a moment after
                                   // it has started
};

// A program that has ended.
struct Ended {
  int code = -1;       // its exit code; 128 + the number of the signal that killed it
  std::string output;  // its standard output and error; what exceeds 64 KiB is left out
};

// Runs a program to its end, in our environment. `input`, at most 64 KiB, is its standard input. A signal that
// ends this process ends the program, too.
Result<Ended> run_program(const std::vector<std::string>& words, std::string_view input,
                          const ProgramLimits& limits);

}  // namespace depute
