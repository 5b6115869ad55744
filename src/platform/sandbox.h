// Takes the network and most of the file system from a worker before it starts.
//
//   std::thread([&] { platform::enter_sandbox("/tmp/depute-worker-x"); start(); }).join();
//
// The kernel keeps these rules for a thread and for all that it starts, so a thread of its own takes them, starts
// the worker, and ends. Programs read and run every file as before; they write below the worker's folder and in
// /dev, and open no sockets but those between processes of this machine.
#pragma once

#include <string>

namespace depute::platform {

// Restricts the calling thread for good. Leaves out the part for which the kernel has no Landlock or seccomp.
void enter_sandbox(const std::string& folder);

}  // namespace depute::platform
