// Ends the processes that a worker started and left behind. Those that left the worker's process group are found
// in two ways: by TMPDIR in their environment, which is the worker's own folder, and as children of this process.
// The latter requires adopt_orphans(), and also finds processes without that environment.
#pragma once

#include <string>

#include "platform/child_process.h"

namespace depute {

// Makes this process the parent of all processes below it whose own parent has ended. For processes that start no
// other programs in process groups of their own.
void adopt_orphans();

// A child that this process started itself and ends itself.
class OwnChild {
 public:
  OwnChild() = default;
  explicit OwnChild(platform::ProcessId id);
  OwnChild(OwnChild&& other) noexcept;
  OwnChild& operator=(OwnChild&& other) noexcept;
  ~OwnChild();

 private:
  platform::ProcessId id_ = 0;  // 0: none
};

// Kills the processes left by the worker with this folder, which has ended. Without any OwnChild, also all adopted
// processes. Returns in bounded time.
void end_processes_of(const std::string& folder);

}  // namespace depute
