#include "tools/tune/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "read/read_fields.h"
#include "support/number_text.h"
#include "support/process/run_program.h"

namespace depute {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct AnsweredCall {
  std::vector<std::uint64_t> ns;
  std::vector<OutputStatistics> outputs;
};

struct Answer {
  std::vector<AnsweredCall> calls;
};

}  // namespace

static void fields(auto& visit, OutputStatistics& output) {
  visit.optional("not_finite", output.not_finite, "mean", output.mean, "deviation", output.deviation, "min",
                 output.min, "max", output.max);
}

namespace {

void fields(auto& visit, AnsweredCall& call) {
  visit("ns", call.ns);
  visit.optional("outputs", call.outputs);
}

void fields(auto& visit, Answer& answer) {
  visit("calls", answer.calls);
}

// Programs may print lines of their own before and after the object.
std::string_view object_in(std::string_view output) {
  const std::size_t begin = output.starts_with('{') ? 0 : output.find("\n{") + 1;
  const std::size_t end = output.rfind('}');
  return begin == 0 && !output.starts_with('{')
             ? output
             : output.substr(begin, end == output.npos ? end : end + 1 - begin);
}

std::string last_line(std::string_view output) {
  while (output.ends_with('\n')) output.remove_suffix(1);
  return std::string(output.substr(output.rfind('\n') + 1));
}

Result<Answer> parse_answer(std::string_view output, const std::string& command) {
  const std::string text(object_in(output));
  TRY(const JsonDocument document,
      JsonDocument::parse(EntryBytes{.bytes = std::as_bytes(std::span(text))},
                          fmt::format("the answer of {}", command), ReadLimits()));
  Answer answer;
  TRY_STATUS(read_json(Json(document), answer));
  return answer;
}

// A command that ran for a second cannot have made calls for an hour.
Status check_total(const Answer& answer, std::chrono::nanoseconds passed, const std::string& command) {
  double total = 0;
  for (const AnsweredCall& call : answer.calls) {
    for (const std::uint64_t ns : call.ns) total += static_cast<double>(ns);
  }
  const auto limit = static_cast<double>(passed.count());
  if (total <= limit) return {};
  return failure("tune", command,
                 fmt::format("the times that it printed are {:.3g} s in all, and it ran for {:.3g} s",
                             total / 1e9, limit / 1e9),
                 "times are nanoseconds");
}

// The first repetition warms caches up. Fails if the times are not those that were asked for.
Result<std::uint64_t> median_of(const Answer& answer, std::size_t calls, std::uint64_t repeat,
                                const std::string& command) {
  const auto is_whole = [&](const AnsweredCall& call) {
    return call.ns.size() == repeat + 1 && std::ranges::find(call.ns, std::uint64_t{0}) == call.ns.end();
  };
  if (answer.calls.size() != calls || !std::ranges::all_of(answer.calls, is_whole))
    return failure("tune", command,
                   fmt::format("it did not print the times of {}, {} each", plural(calls, "call"),
                               plural(repeat + 1, "run")),
                   "`depute run --json` prints what is expected");
  std::vector<std::uint64_t> sums(repeat, 0);
  for (const AnsweredCall& call : answer.calls) {
    for (std::size_t i = 0; i < repeat; ++i) sums[i] += call.ns[i + 1];
  }
  const auto middle = sums.begin() + static_cast<std::ptrdiff_t>(sums.size() / 2);
  std::ranges::nth_element(sums, middle);
  return *middle;
}

// A largest difference that rounding explains, of numbers of this size.
constexpr double relative_difference = 0.02;
constexpr double absolute_difference = 1e-5;

}  // namespace

bool OutputStatistics::is_near(const OutputStatistics& other) const {
  if (not_finite != other.not_finite || mean.has_value() != other.mean.has_value()) return false;
  const double size =
      std::max({std::abs(min.value_or(0)), std::abs(max.value_or(0)), std::abs(deviation.value_or(0))});
  const double allowed = absolute_difference + relative_difference * size;
  const auto near = [&](const std::optional<double>& a, const std::optional<double>& b) {
    return std::abs(a.value_or(0) - b.value_or(0)) <= allowed;
  };
  return near(mean, other.mean) && near(deviation, other.deviation) && near(min, other.min) &&
         near(max, other.max);
}

std::vector<std::string> Meter::words(const std::string& program, const MeasuredMethod& method,
                                      std::uint64_t repeat) const {
  std::vector<std::string> words = options_.command;
  words.insert(words.end(), {program, "--method", method.name});
  if (method.inputs.empty()) words.emplace_back("--random");
  for (const std::string& file : method.inputs) words.insert(words.end(), {"--inputs", file});
  words.insert(words.end(), {"--repeat", std::to_string(repeat + 1)});
  if (options_.threads > 0) words.insert(words.end(), {"--threads", std::to_string(options_.threads)});
  words.emplace_back("--json");
  return words;
}

Result<std::vector<std::string>> Meter::trace(const std::string& program, std::uint64_t repeat,
                                              milliseconds limit, const std::string& folder) const {
  std::vector<std::string> dumps;
  for (const MeasuredMethod& method : options_.methods) {
    const std::string& dump = dumps.emplace_back(fmt::format("{}/{}.etdp", folder, dumps.size()));
    std::vector<std::string> command = words(program, method, repeat);
    command.insert(command.end(), {"--etdump", dump});
    const ProgramLimits limits{.time = limit, .max_file_bytes = std::numeric_limits<std::int64_t>::max()};
    TRY(const Ended ended, run_program(command, "", limits));
    if (ended.code != 0) return failure("tune", command.front(), last_line(ended.output));
  }
  return dumps;
}

Result<Turn> Meter::run(const std::string& program, std::uint64_t repeat, milliseconds limit) const {
  const auto start = steady_clock::now();
  const std::string& command = options_.command.front();
  Turn turn;
  for (const MeasuredMethod& method : options_.methods) {
    const auto passed = std::chrono::ceil<milliseconds>(steady_clock::now() - start);
    const ProgramLimits limits{.time = std::max(limit - passed, milliseconds(1)),
                               .max_file_bytes = std::numeric_limits<std::int64_t>::max()};
    const auto started = steady_clock::now();
    TRY(const Ended ended, run_program(words(program, method, repeat), "", limits));
    if (steady_clock::now() - start >= limit)
      return failure("tune", command,
                     fmt::format("it took longer than {:.1f} s", static_cast<double>(limit.count()) / 1e3));
    if (ended.code != 0)
      return failure("tune", command,
                     fmt::format("it ended with code {}: {}", ended.code, last_line(ended.output)));
    TRY(Answer answer, parse_answer(ended.output, command));
    TRY_STATUS(check_total(answer, steady_clock::now() - started, command));
    TRY(const std::uint64_t ns,
        median_of(answer, std::max<std::size_t>(method.inputs.size(), 1), repeat, command));
    turn.ns += ns;
    for (AnsweredCall& call : answer.calls) std::ranges::move(call.outputs, std::back_inserter(turn.outputs));
  }
  turn.process = std::chrono::ceil<milliseconds>(steady_clock::now() - start);
  return turn;
}

}  // namespace depute
