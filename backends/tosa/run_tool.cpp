#include "run_tool.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/signals.h"
#include "support/process/run_program.h"
#include "support/try.h"

namespace depute::tosa {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_told_lines = 20;
constexpr std::size_t max_line_bytes = 300;

std::vector<std::string> told_lines(const ToolRun& run, std::string_view output) {
  std::vector<std::string> lines;
  while (!output.empty() && lines.size() < max_told_lines) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(line.size() + 1, output.size()));
    const bool is_chatter = run.is_chatter != nullptr && run.is_chatter(line);
    if (!line.empty() && !is_chatter) lines.push_back(printable(line.substr(0, max_line_bytes)));
  }
  return lines;
}

}  // namespace

Failure tool_failure(const ToolRun& run, std::string message, std::string_view output) {
  Failure failed = failure(run.backend, run.program, message);
  failed.error().details = told_lines(run, output);
  return failed;
}

Result<std::string> run_tool(const ToolRun& run, std::vector<std::string> options) {
  options.insert(options.begin(), run.program);
  const auto last = Clock::now() + run.time_limit;
  TRY(Ended ended, run_program(options, {}, {.time = run.time_limit, .max_file_bytes = run.max_file_bytes}));
  if (ended.code == 0) return std::move(ended.output);
  if (ended.code == 128 + platform::kill_signal && Clock::now() >= last)
    return tool_failure(
        run, fmt::format("did not end within {} s", std::chrono::duration<double>(run.time_limit).count()),
        ended.output);
  if (ended.code == 128 + platform::file_limit_signal)
    return tool_failure(run, fmt::format("wrote more than {} bytes", run.max_file_bytes), ended.output);
  const std::string_view signal = platform::signal_name(ended.code - 128);
  if (!signal.empty()) return tool_failure(run, fmt::format("was ended by SIG{}", signal), ended.output);
  return tool_failure(run, fmt::format("ended with code {}", ended.code), ended.output);
}

}  // namespace depute::tosa
