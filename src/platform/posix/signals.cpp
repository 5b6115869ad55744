// One thread waits for the signals, so that a handler is ordinary code, which may allocate and take locks.
#include "platform/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>

namespace depute::platform {
namespace {

static_assert(interrupt_signal == SIGINT && kill_signal == SIGKILL && closed_pipe_signal == SIGPIPE &&
              file_limit_signal == SIGXFSZ);

constexpr std::array ending_signals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,   SIGALRM,
                                       SIGXCPU, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF};

void (*lost_page_handler)(int, const void*) = nullptr;

void handle_bus_error(int number, siginfo_t* info, void*) {
  lost_page_handler(number, info->si_addr);
}

}  // namespace

void on_ending_signal(void (*handler)(int)) {
  sigset_t signals{};
  sigemptyset(&signals);
  for (const int number : ending_signals) {
    struct sigaction action{};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) sigaddset(&signals, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  try {
    std::thread([signals, handler] {
      int number = 0;
      while (true)
        if (sigwait(&signals, &number) == 0) handler(number);
    }).detach();
  } catch (const std::system_error&) {
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // no memory for a thread: the run will not get far
  }
}

void on_lost_page(void (*handler)(int, const void*)) {
  lost_page_handler = handler;
  struct sigaction action{};
  action.sa_sigaction = handle_bus_error;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGBUS, &action, nullptr);
}

void ignore_signal(int number) {
  std::signal(number, SIG_IGN);
}

void end_by_default(int number) {
  std::signal(number, SIG_DFL);
  sigset_t own{};
  sigemptyset(&own);
  sigaddset(&own, number);
  pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  raise(number);
  _exit(128 + number);
}

const char* signal_name(int number) {
  struct Named {
    int number;
    const char* name;
  };
  static constexpr std::array names = {
      Named{SIGHUP, "HUP"},       Named{SIGINT, "INT"},   Named{SIGQUIT, "QUIT"}, Named{SIGILL, "ILL"},
      Named{SIGTRAP, "TRAP"},     Named{SIGABRT, "ABRT"}, Named{SIGBUS, "BUS"},   Named{SIGFPE, "FPE"},
      Named{SIGKILL, "KILL"},     Named{SIGUSR1, "USR1"}, Named{SIGSEGV, "SEGV"}, Named{SIGUSR2, "USR2"},
      Named{SIGPIPE, "PIPE"},     Named{SIGALRM, "ALRM"}, Named{SIGTERM, "TERM"}, Named{SIGCHLD, "CHLD"},
      Named{SIGCONT, "CONT"},     Named{SIGSTOP, "STOP"}, Named{SIGTSTP, "TSTP"}, Named{SIGTTIN, "TTIN"},
      Named{SIGTTOU, "TTOU"},     Named{SIGURG, "URG"},   Named{SIGXCPU, "XCPU"}, Named{SIGXFSZ, "XFSZ"},
      Named{SIGVTALRM, "VTALRM"}, Named{SIGPROF, "PROF"}, Named{SIGSYS, "SYS"},
  };
  for (const Named& named : names)
    if (named.number == number) return named.name;
  return "";
}

const char* signal_description(int number) {
  return strsignal(number);
}

}  // namespace depute::platform
