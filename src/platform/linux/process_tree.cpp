// Finds processes in /proc.
#include "platform/process_tree.h"

#include <sys/prctl.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace depute::platform {
namespace {

namespace fs = std::filesystem;

}  // namespace

bool adopt_orphans() {
  return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

std::vector<ProcessId> all_processes() {
  std::vector<ProcessId> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    ProcessId id = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), id).ptr == name.data() + name.size())
      all.push_back(id);
  }
  return all;
}

std::vector<ProcessId> child_processes() {
  std::vector<ProcessId> all;
  std::error_code error;
  for (const auto& thread : fs::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(thread.path() / "children");
    if (!file) return all_processes();  // a kernel without these lists
    all.insert(all.end(), std::istream_iterator<ProcessId>(file), {});
  }
  return all;
}

// The environment of a process that is ending is empty.
bool has_in_environment(ProcessId id, const std::string& line) {
  std::ifstream file("/proc/" + std::to_string(id) + "/environ", std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(file), {});
  return all.find(line + '\0') != std::string::npos;
}

}  // namespace depute::platform
