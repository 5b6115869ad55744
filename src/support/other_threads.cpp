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

// The first real-time signals are the C library's.
int stop_signal() {
  return SIGRTMIN + 5;
}

extern "C" void stop_here(int /*signal*/) {
  ++stopped_threads;
  while (true) pause();
}

// The number that a name of digits is; 0 for another name.
pid_t number_of(const char* name) {
  pid_t number = 0;
  for (; *name != '\0'; ++name) {
    if (*name < '0' || *name > '9') return 0;
    number = number * 10 + (*name - '0');
  }
  return number;
}

// Tells all threads but this one to stop, and returns how many there are. The folder is read by the system's
// own call, since opendir() allocates.
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

// Of two handlers on two threads one waits to be stopped. Threads are told once more while there are new
// ones, which another had started before it stopped, and from time to time, since one may have ended instead.
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
