// Finds processes in /proc.
#include "worker/process_tree.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "support/clean_up.h"

namespace depute {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// Rounds of looking for processes. Each ends all that it finds, and those may have started others.
constexpr int max_rounds = 1000;

bool adopts = false;

// Guarded by delay_signals().
std::set<pid_t>& own_children() {
  static auto* all = new std::set<pid_t>;  // never destroyed: a signal may come while the process ends
  return *all;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr == name.data() + name.size())
      all.push_back(pid);
  }
  return all;
}

std::vector<pid_t> children() {
  std::vector<pid_t> all;
  std::error_code error;
  for (const auto& thread : fs::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(thread.path() / "children");
    if (!file) return all_processes();  // a kernel without these lists
    all.insert(all.end(), std::istream_iterator<pid_t>(file), {});
  }
  return all;
}

// The environment of a process that is ending is empty.
bool has_folder(pid_t pid, const std::string& folder) {
  const std::string line = fmt::format("TMPDIR={}", folder) + '\0';
  return file_text(fmt::format("/proc/{}/environ", pid)).find(line) != std::string::npos;
}

// True for a child of this process, running or not, that has left its process group.
bool is_adopted(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         getpgid(pid) != getpgrp();
}

}  // namespace

void adopt_orphans() {
  adopts = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

OwnChild::OwnChild(pid_t pid) : pid_(pid) {
  const auto held = delay_signals();
  own_children().insert(pid);
}

OwnChild::OwnChild(OwnChild&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}

OwnChild& OwnChild::operator=(OwnChild&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

OwnChild::~OwnChild() {
  if (pid_ == 0) return;
  const auto held = delay_signals();
  own_children().erase(pid_);
}

void end_processes_of(const std::string& folder) {
  const auto held = delay_signals();
  const std::set<pid_t>& own = own_children();
  bool found = true;
  for (int round = 0; found && round < max_rounds; ++round) {
    if (round > 0) std::this_thread::sleep_for(1ms);
    found = false;
    for (const pid_t pid : adopts ? children() : all_processes()) {
      if (own.contains(pid)) continue;
      const bool is_orphan = adopts && own.empty() && is_adopted(pid);
      if (!is_orphan && !has_folder(pid, folder)) continue;
      found = true;
      ::kill(pid, SIGKILL);
      if (adopts) waitpid(pid, nullptr, WNOHANG);
    }
  }
}

}  // namespace depute
