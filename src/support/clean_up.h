// Registers work that must be undone before a signal ends the process: temporary files and folders, workers.
//
//   const CleanUp removal([path] { std::filesystem::remove(path); });   // until it is destroyed
//
// One thread waits for the signals, so that a clean-up is ordinary code, which may allocate and take locks.
#pragma once

#include <functional>
#include <mutex>

namespace depute {

// A registered function. It runs if a signal ends the process, or in run_clean_ups(), unless this object is
// destroyed before.
class CleanUp {
 public:
  CleanUp() = default;
  explicit CleanUp(std::function<void()> undo);
  CleanUp(CleanUp&& other) noexcept;
  CleanUp& operator=(CleanUp&& other) noexcept;
  ~CleanUp();

 private:
  int number_ = 0;  // 0: none
};

// While the result lives, no signal ends the process. Used to create something and register it at once.
[[nodiscard]] std::unique_lock<std::recursive_mutex> delay_signals();

// Runs all registered functions, the latest first, and forgets them.
void run_clean_ups();

// Calls run_clean_ups() and ends the process by the signal.
[[noreturn]] void end_by_signal(int number);

// From now on SIGINT, SIGTERM and the other signals that end a process do so by end_by_signal(). Signals that
// the caller ignores or handles stay as they are. Writing to a closed pipe fails with EPIPE.
// A mapped file that is cut while it is read ends the process with exit code 1 and an error on standard error.
// Call it before any other thread is started.
void clean_up_on_signals();

// While one lives, the first SIGINT does not end the process: work that has a result so far can end with it. The second one does.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool is_interrupted() const;
};

}  // namespace depute
