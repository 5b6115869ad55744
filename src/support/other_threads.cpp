#include "support/other_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <ctime>

namespace depute {
namespace {

std::atomic<int> stopped_threads = 0;
std::atomic_flag somebody_stops;

// The C library uses the first real-time signals.
int stop_signal() {
  return SIGRTMIN + 5;
}

extern "C" void stop_here(int /*signal*/) {
  ++stopped_threads;
  while (true) pause();
}

// Parses a name that consists of digits; returns 0 for other names.
pid_t number_of(const char* name) {
  pid_t number = 0;
  for (; *name != '\0'; ++name) {
    if (*name < '0' || *name > '9') return 0;
    number = number * 10 + (*name - '0');
  }
  return number;
}

// Sends the stop signal to all other threads and returns their number. Uses a system call to read the folder,
// because opendir() allocates.
int tell_other_threads() {
  const int folder = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 0;
  const auto own = static_cast<pid_t>(syscall(SYS_gettid));
  int count = 0;
  alignas(dirent64) std::array<char, 4096> entries;
  while (true) {
    const long size = syscall(SYS_getdents64, folder, entries.data(), entries.size());
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      const pid_t thread = number_of(entry->d_name);
      if (thread != 0 && thread != own && syscall(SYS_tgkill, getpid(), thread, stop_signal()) == 0) ++count;
      at += entry->d_reclen;
    }
  }
  ::close(folder);
  return count;
}

bool handler_is_set() {
  struct sigaction action{};
  return sigaction(stop_signal(), nullptr, &action) == 0 && action.sa_handler == stop_here;
}

}  // namespace

void let_threads_be_stopped() {
  struct sigaction action{};
  action.sa_handler = stop_here;
  sigfillset(&action.sa_mask);
  sigaction(stop_signal(), &action, nullptr);
}

// If two threads run handlers, one of them waits to be stopped. Signals are repeated when there are new
// threads, which another thread created before it stopped, and every 100 rounds, because a thread may have
// ended instead.
void stop_other_threads() {
  if (!handler_is_set()) return;
  while (somebody_stops.test_and_set()) pause();
  constexpr timespec a_moment = {.tv_sec = 0, .tv_nsec = 100'000};
  int told = 0;
  for (int moments = 0; moments < 5000; ++moments) {
    if (told <= stopped_threads || moments % 100 == 0) {
      const int now = tell_other_threads();
      if (now <= stopped_threads) return;
      told = now;
    }
    nanosleep(&a_moment, nullptr);
  }
}

Uninterrupted::Uninterrupted() {
  sigset_t all{};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

Uninterrupted::~Uninterrupted() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace depute
