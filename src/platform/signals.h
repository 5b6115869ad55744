// Signals that end the process.
//
//   platform::on_ending_signal([](int number) { remove_files(); platform::end_by_default(number); });
#pragma once

namespace depute::platform {

// Numbers with the same meaning on all systems.
inline constexpr int interrupt_signal = 2;  // Ctrl-C
inline constexpr int kill_signal = 9;
inline constexpr int closed_pipe_signal = 13;  // the reader of a pipe has gone
inline constexpr int file_limit_signal = 25;   // a file exceeded its size limit

// Makes SIGINT, SIGTERM and the other signals that end a process call the handler, on a thread of their own. Leaves signals
// that the caller of the process ignores or handles as they are. Call it before any other thread is started.
void on_ending_signal(void (*handler)(int number));
// Calls the handler, on the thread that failed, if a mapped page cannot be read since its file was cut.
void on_lost_page(void (*handler)(int number, const void* address));
void ignore_signal(int number);
// Ends the process as the signal does that nothing handles.
[[noreturn]] void end_by_default(int number);

// The signal's name, "SEGV" for example; empty if it has none. And its description, "Segmentation fault".
const char* signal_name(int number);
const char* signal_description(int number);

}  // namespace depute::platform
