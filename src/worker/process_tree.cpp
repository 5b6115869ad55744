#include "worker/process_tree.h"

#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "platform/process_tree.h"
#include "support/clean_up.h"

namespace depute {
namespace {

using namespace std::chrono_literals;

// Rounds of looking for processes. Each ends all that it finds, and those may have started others.
constexpr int max_rounds = 1000;

bool adopts = false;

// Guarded by delay_signals().
std::set<platform::ProcessId>& own_children() {
  static auto* all =
      new std::set<platform::ProcessId>;  // never destroyed: a signal may come while the process ends
  return *all;
}

}  // namespace

void adopt_orphans() {
  adopts = platform::adopt_orphans();
}

OwnChild::OwnChild(platform::ProcessId id) : id_(id) {
  const auto held = delay_signals();
  own_children().insert(id);
}

OwnChild::OwnChild(OwnChild&& other) noexcept : id_(std::exchange(other.id_, 0)) {}

OwnChild& OwnChild::operator=(OwnChild&& other) noexcept {
  std::swap(id_, other.id_);
  return *this;
}

OwnChild::~OwnChild() {
  if (id_ == 0) return;
  const auto held = delay_signals();
  own_children().erase(id_);
}

void end_processes_of(const std::string& folder) {
  const auto held = delay_signals();
  const std::set<platform::ProcessId>& own = own_children();
  bool found = true;
  for (int round = 0; found && round < max_rounds; ++round) {
    if (round > 0) std::this_thread::sleep_for(1ms);
    found = false;
    for (const platform::ProcessId id : adopts ? platform::child_processes() : platform::all_processes()) {
      if (own.contains(id)) continue;
      const bool is_orphan = adopts && own.empty() && platform::has_left_group(id);
      if (!is_orphan && !platform::has_in_environment(id, "TMPDIR=" + folder)) continue;
      found = true;
      platform::kill_process(id);
      if (adopts) platform::reap(id);
    }
  }
}

}  // namespace depute
