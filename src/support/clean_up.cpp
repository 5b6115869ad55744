#include "support/clean_up.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <exception>
#include <map>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "support/mapped_file.h"

namespace depute {
namespace {

constexpr std::array ending_signals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,   SIGALRM,
                                       SIGXCPU, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF};

struct Registered {
  std::recursive_mutex mutex;
  int last = 0;
  std::map<int, std::function<void()>> functions;  // in the order in which they were registered
};

// Never destroyed: a signal may come while the process ends.
Registered& registered() {
  static auto* all = new Registered;
  return *all;
}

enum class Interrupt : std::uint8_t { Ends, Watched, Seen };
std::atomic<Interrupt> interrupt = Interrupt::Ends;

void wait_for(sigset_t signals) {
  int number = 0;
  while (true) {
    if (sigwait(&signals, &number) != 0) continue;
    Interrupt watched = Interrupt::Watched;
    if (number == SIGINT && interrupt.compare_exchange_strong(watched, Interrupt::Seen)) continue;
    end_by_signal(number);
  }
}

// A mapped file that another process cuts has no bytes at its old addresses any more. The signal comes to the
// thread that reads them, which holds no lock of the allocator or of this file, so the handler may do anything.
void end_by_bus_error(int number, siginfo_t* info, void*) {
  const std::string path = MappedFile::path_at(info->si_addr);
  if (path.empty()) end_by_signal(number);
  const auto held = delay_signals();  // for good
  Diagnostic error = std::move(input_changed(path).error());
  const std::string text = fmt::format("error[{}]: {}: {}\n  help: {}\n", error.code, printable(error.where),
                                       error.message, error.hint);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  run_clean_ups();
  _exit(1);
}

// An exception that no one can catch: nlohmann's JSON allocates where it frees, so it throws in a destructor when
// memory has run out. Says so without memory of its own.
[[noreturn]] void end_by_exception() {
  std::string_view text = "error[internal]: an exception that nothing caught\n";
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    text = "error[memory]: out of memory\n";
  } catch (...) {  // what it says is for a debugger
  }
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  run_clean_ups();
  _exit(1);
}

}  // namespace

CleanUp::CleanUp(std::function<void()> undo) {
  const auto held = delay_signals();
  number_ = ++registered().last;
  registered().functions.emplace(number_, std::move(undo));
}

CleanUp::CleanUp(CleanUp&& other) noexcept : number_(std::exchange(other.number_, 0)) {}

CleanUp& CleanUp::operator=(CleanUp&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

CleanUp::~CleanUp() {
  if (number_ == 0) return;
  const auto held = delay_signals();
  registered().functions.erase(number_);
}

std::unique_lock<std::recursive_mutex> delay_signals() {
  return std::unique_lock(registered().mutex);
}

void run_clean_ups() {
  const auto held = delay_signals();
  auto& functions = registered().functions;
  while (!functions.empty()) {
    const auto last = std::prev(functions.end());
    const std::function<void()> undo = std::move(last->second);
    functions.erase(last);
    undo();
  }
}

void end_by_signal(int number) {
  const auto held = delay_signals();  // for good: no other thread makes anything new
  run_clean_ups();
  std::signal(number, SIG_DFL);
  sigset_t own{};
  sigemptyset(&own);
  sigaddset(&own, number);
  pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  raise(number);
  _exit(128 + number);
}

void clean_up_on_signals() {
  static std::once_flag once;
  std::call_once(once, [] {
    sigset_t signals{};
    sigemptyset(&signals);
    for (const int number : ending_signals) {
      struct sigaction action{};
      if (sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_DFL)
        sigaddset(&signals, number);
    }
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    try {
      std::thread(wait_for, signals).detach();
    } catch (const std::system_error&) {
      pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // no memory for a thread: the run will not get far
    }
    std::set_terminate(end_by_exception);
    struct sigaction on_bus_error{};
    on_bus_error.sa_sigaction = end_by_bus_error;
    on_bus_error.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGBUS, &on_bus_error, nullptr);
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the size limit then fails instead
    std::signal(SIGPIPE, SIG_IGN);  // so does a write to a closed pipe
  });
}

InterruptWatch::InterruptWatch() {
  interrupt = Interrupt::Watched;
}

InterruptWatch::~InterruptWatch() {
  interrupt = Interrupt::Ends;
}

bool InterruptWatch::is_interrupted() const {
  return interrupt == Interrupt::Seen;
}

}  // namespace depute
