// Looks at running processes, to find those that a worker left behind.
//
//   for (const platform::ProcessId id : platform::child_processes())
//     if (platform::has_left_group(id)) platform::kill_process(id);
#pragma once

#include <string>
#include <vector>

#include "platform/child_process.h"

namespace depute::platform {

// Makes this process the parent of all processes below it whose own parent has ended. False if the system cannot.
bool adopt_orphans();

std::vector<ProcessId> child_processes();
std::vector<ProcessId> all_processes();
// True if the process has this "NAME=value" in its environment.
bool has_in_environment(ProcessId id, const std::string& line);
// True for a child, running or not, that is not in the process group of this process.
bool has_left_group(ProcessId id);
// Releases the id of a child if it has ended.
void reap(ProcessId id);

}  // namespace depute::platform
