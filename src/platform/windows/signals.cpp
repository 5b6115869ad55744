// Gives events of the console (Ctrl-C, a closed window) and exceptions of the processor the numbers of Linux's signals.
#include "platform/signals.h"

#include <array>

#include "platform/windows/system_parts.h"

namespace depute::platform {
namespace {

constexpr int hang_up_signal = 1;
constexpr int lost_page_signal = 7;
constexpr int end_signal = 15;

void (*ending_handler)(int) = nullptr;
void (*lost_page_handler)(int, const void*) = nullptr;

// Windows runs it on a thread of its own.
BOOL WINAPI handle_console(DWORD event) {
  ending_handler(event == CTRL_C_EVENT       ? interrupt_signal
                 : event == CTRL_BREAK_EVENT ? end_signal
                                             : hang_up_signal);
  return TRUE;
}

LONG WINAPI handle_exception(EXCEPTION_POINTERS* thrown) {
  const EXCEPTION_RECORD& record = *thrown->ExceptionRecord;
  if (record.ExceptionCode == EXCEPTION_IN_PAGE_ERROR)
    lost_page_handler(lost_page_signal, reinterpret_cast<const void*>(record.ExceptionInformation[1]));
  return EXCEPTION_CONTINUE_SEARCH;
}

struct Signal {
  int number;
  const char* name;
  const char* description;
};

constexpr std::array all_signals = {
    Signal{1, "HUP", "Hangup"},
    Signal{2, "INT", "Interrupt"},
    Signal{4, "ILL", "Illegal instruction"},
    Signal{5, "TRAP", "Trace/breakpoint trap"},
    Signal{6, "ABRT", "Aborted"},
    Signal{7, "BUS", "Bus error"},
    Signal{8, "FPE", "Floating point exception"},
    Signal{9, "KILL", "Killed"},
    Signal{11, "SEGV", "Segmentation fault"},
    Signal{15, "TERM", "Terminated"},
};

}  // namespace

void on_ending_signal(void (*handler)(int)) {
  ending_handler = handler;
  SetConsoleCtrlHandler(handle_console, TRUE);
}

void on_lost_page(void (*handler)(int, const void*)) {
  lost_page_handler = handler;
  AddVectoredExceptionHandler(1, handle_exception);
}

// Writing to a closed pipe is an error and no more, and files have no limits.
void ignore_signal(int number) {
  if (number == interrupt_signal) SetConsoleCtrlHandler(nullptr, TRUE);
}

// With the exit code that shells have for it elsewhere, or that Windows has for Ctrl-C.
void end_by_default(int number) {
  const DWORD code = number == interrupt_signal ? STATUS_CONTROL_C_EXIT : 128 + static_cast<DWORD>(number);
  TerminateProcess(GetCurrentProcess(), code);
  __builtin_unreachable();
}

const char* signal_name(int number) {
  for (const Signal& each : all_signals)
    if (each.number == number) return each.name;
  return "";
}

const char* signal_description(int number) {
  for (const Signal& each : all_signals)
    if (each.number == number) return each.description;
  return "Unknown signal";
}

}  // namespace depute::platform
