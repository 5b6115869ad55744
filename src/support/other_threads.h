// A signal handler that removes what a process leaves must be alone: another thread would go on making new
// files, or take the end of a worker, which the handler has ended, for a failure whose input is to be kept.
//
//   let_threads_be_stopped();              // when the process starts
//   stop_other_threads();                  // in the handler: from here on nobody else does anything
#pragma once

#include <csignal>

namespace depute {

void let_threads_be_stopped();

// Does nothing without let_threads_be_stopped(). The threads never go on: for a process that ends. Waits for
// half a second at most for one that does not stop. Safe to call from a signal handler that blocks the
// signals whose handlers call this.
void stop_other_threads();

// This thread is neither interrupted nor stopped while it makes something and notes that it is there.
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace depute
