// Stops all other threads in a signal handler that removes temporary files. A running thread could create new
// files. It could also treat a worker that the handler ended as failed, and keep its input.
//
//   let_threads_be_stopped();              // when the process starts
//   stop_other_threads();                  // in the handler: no other thread runs after this
#pragma once

#include <csignal>

namespace depute {

// Enables stop_other_threads().
void let_threads_be_stopped();

// Stops all other threads permanently, in a process that ends. Does nothing without let_threads_be_stopped().
// Waits at most half a second for a thread that does not stop. Call it in signal handlers that block all
// signals whose handlers call it.
void stop_other_threads();

// While it lives, this thread is neither interrupted nor stopped. Used to create a file and register it
// atomically.
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
