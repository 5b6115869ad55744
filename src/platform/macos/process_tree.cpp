#include "platform/process_tree.h"

#include <libproc.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <array>

namespace depute::platform {
namespace {

// Calls a function that fills a list of ids, and tells how many there are.
template <typename List>
std::vector<ProcessId> listed(List&& list) {
  std::vector<pid_t> ids(4096);
  const int count = list(ids.data(), static_cast<int>(ids.size() * sizeof(pid_t)));
  ids.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return {ids.begin(), ids.end()};
}

}  // namespace

bool adopt_orphans() {
  return false;
}

std::vector<ProcessId> all_processes() {
  return listed(proc_listallpids);
}

std::vector<ProcessId> child_processes() {
  return listed([](void* ids, int bytes) { return proc_listchildpids(getpid(), ids, bytes); });
}

// The system tells the words and the environment of a process as one text.
bool has_in_environment(ProcessId id, const std::string& line) {
  std::array name = {CTL_KERN, KERN_PROCARGS2, static_cast<int>(id)};
  std::size_t size = 0;
  if (sysctl(name.data(), name.size(), nullptr, &size, nullptr, 0) != 0) return false;
  std::string all(size, '\0');
  if (sysctl(name.data(), name.size(), all.data(), &size, nullptr, 0) != 0) return false;
  return all.find(line + '\0') != std::string::npos;
}

}  // namespace depute::platform
