#include "support/process/run_program.h"

#include <algorithm>
#include <array>
#include <thread>

#include "platform/child_process.h"
#include "support/clean_up.h"

namespace depute {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_stream_bytes = std::size_t{1} << 16;  // of input and output of run_program()

// Appends what can be read. Returns false at the end of the stream.
bool read_some(const platform::File& pipe, std::string& text) {
  std::array<char, 1 << 12> buffer;
  const auto count = pipe.read(std::as_writable_bytes(std::span(buffer)));
  if (!count) return count.error() == std::errc::operation_would_block;
  const std::size_t room = max_stream_bytes - text.size();
  text.append(buffer.data(), std::min(room, *count));
  return *count > 0;
}

// Waits until the program ends, and kills it if it does not end in time. Reads its output on the way.
void wait_for(platform::ProcessId id, const platform::File& output, Clock::time_point last,
              std::string& text) {
  bool is_open = true;
  while (is_open && Clock::now() < last) {
    std::array streams = {platform::Awaited{.file = &output}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(last - Clock::now());
    platform::wait_for_any(streams, std::max(left, 0ms));
    if (streams[0].is_ready) is_open = read_some(output, text);
  }
  while (!platform::ending_of(id) && Clock::now() < last) std::this_thread::sleep_for(100us);
  if (!platform::ending_of(id)) platform::kill_process(id);
}

Failure not_started(const std::string& program, std::error_code reason) {
  const bool is_missing = reason == std::errc::no_such_file_or_directory;
  return failure("run", program, is_missing ? "there is no such program on PATH" : reason.message());
}

}  // namespace

Result<Ended> run_program(const std::vector<std::string>& words, std::string_view input,
                          const ProgramLimits& limits) {
  const auto last = Clock::now() + limits.time;
  auto in = platform::open_pipe_to_program();
  if (!in) return not_started(words[0], in.error());
  auto out = platform::open_pipe_from_program();
  if (!out) return not_started(words[0], out.error());
  // The pipe holds the whole input, so that writing it never waits for the program.
  const auto sent = input.size() <= max_stream_bytes ? platform::send_some(in->ours, input) : 0;
  if (!sent) return not_started(words[0], sent.error());
  if (*sent != input.size())
    return not_started(words[0], std::make_error_code(std::errc::argument_list_too_long));
  platform::ProcessId id = 0;
  CleanUp killing;
  {
    const auto held = delay_signals();
    const auto started =
        platform::start_program({.words = words, .streams = {&in->theirs, &out->theirs, &out->theirs}});
    if (!started) return not_started(words[0], started.error());
    id = *started;
    killing = CleanUp([id] { platform::kill_process(id); });
  }
  platform::limit_files(id, limits.max_file_bytes);
  *in = {};
  out->theirs = {};
  Ended ended;
  wait_for(id, out->ours, last, ended.output);
  killing = {};  // before the system reuses the process id
  ended.code = platform::wait_for_end(id).code();
  return ended;
}

}  // namespace depute
