#include "support/clean_up.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <new>
#include <string_view>
#include <utility>

#include "platform/signals.h"
#include "platform/standard_streams.h"
#include "support/mapped_file.h"

namespace depute {
namespace {

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

void take_signal(int number) {
  Interrupt watched = Interrupt::Watched;
  if (number == platform::interrupt_signal && interrupt.compare_exchange_strong(watched, Interrupt::Seen))
    return;
  end_by_signal(number);
}

// A mapped file that another process cuts has no bytes at its old addresses any more. The signal comes to the
// thread that reads them, which holds no lock of the allocator or of this file, so the handler may do anything.
void end_by_lost_page(int number, const void* address) {
  const std::string path = MappedFile::path_at(address);
  if (path.empty()) end_by_signal(number);
  const auto held = delay_signals();  // for good
  Diagnostic error = std::move(input_changed(path).error());
  platform::write_to_standard_error(fmt::format("error[{}]: {}: {}\n  help: {}\n", error.code,
                                                printable(error.where), error.message, error.hint));
  run_clean_ups();
  std::_Exit(1);
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
  platform::write_to_standard_error(text);
  run_clean_ups();
  std::_Exit(1);
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
  platform::end_by_default(number);
}

void clean_up_on_signals() {
  static std::once_flag once;
  std::call_once(once, [] {
    platform::on_ending_signal(take_signal);
    std::set_terminate(end_by_exception);
    platform::on_lost_page(end_by_lost_page);
    platform::ignore_signal(platform::file_limit_signal);  // a write beyond the size limit then fails instead
    platform::ignore_signal(platform::closed_pipe_signal);  // so does a write to a closed pipe
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
