// Takes the network and most of the file system from a worker before it starts.
//
//   std::thread([&] { enter_sandbox("/tmp/depute-worker-x"); spawn(program); }).join();
//
// The kernel keeps these rules for a thread and for all that it starts, so a thread of its own takes them, starts
// the worker, and ends. Programs read and run every file as before; they write below the worker's folder and in
// /dev, and open no sockets but those between processes of this machine.
#pragma once

#include <string>

namespace depute {

// Cannot be undone. Where the kernel lacks Landlock or seccomp, that part is left out: see has_sandbox().
void enter_sandbox(const std::string& folder);

// True if this kernel has both parts.
bool has_sandbox();

}  // namespace depute
