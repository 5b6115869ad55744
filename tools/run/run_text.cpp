// Tells what a run gave and took, as text and as JSON (docs/cli.md).
//
//   forward: 0.051 ms a call (20 calls, 0.049 to 0.083)
//     output 0: f32[2, 4], mean -1.52, deviation 0.348, -2.11 to -0.934
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/tensors.h"
#include "support/fields.h"
#include "support/number_text.h"
#include "tools/document/document.h"
#include "tools/run/run.h"
#include "tools/run/stand_ins.h"

namespace depute {
namespace {

// Statistics of the finite elements; a complex number counts as two elements, its parts.
struct Statistics {
  std::uint64_t count = 0;
  std::uint64_t not_finite = 0;
  double mean = 0;
  double deviation = 0;
  double min = 0;
  double max = 0;
};

Statistics statistics_of(const TensorData& data) {
  TensorData parts = data;
  if (is_complex(data.type.dtype)) {
    parts.type.dtype = part_of(data.type.dtype);
    parts.type.sizes.push_back(2);
  }
  Statistics result;
  if (!internal::domain_of(parts.type.dtype)) return result;
  const internal::Elements<double> elements(parts);
  double squares = 0;
  for (const double element : elements) {
    if (!std::isfinite(element)) {
      ++result.not_finite;
      continue;
    }
    ++result.count;
    const double off = element - result.mean;
    result.mean += off / static_cast<double>(result.count);
    squares += off * (element - result.mean);
    result.min = result.count == 1 ? element : std::min(result.min, element);
    result.max = result.count == 1 ? element : std::max(result.max, element);
  }
  if (result.count > 0) result.deviation = std::sqrt(squares / static_cast<double>(result.count));
  return result;
}

struct Times {
  std::uint64_t median = 0;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::uint64_t calls = 0;
};

Times times_of(const RunResult& result) {
  std::vector<std::uint64_t> all;
  for (const auto& call : result.call_ns) all.insert(all.end(), call.begin(), call.end());
  if (all.empty()) return {};
  std::ranges::sort(all);
  return {all[all.size() / 2], all.front(), all.back(), all.size()};
}

double milliseconds(std::uint64_t ns) {
  constexpr double ns_per_millisecond = 1e6;
  return static_cast<double>(ns) / ns_per_millisecond;
}

struct OutputFields {
  TensorData data;
  const OutputError* verdict = nullptr;
};

void fields(FieldWriter& visit, const OutputFields& output) {
  if (output.data.storage == nullptr) {
    visit("type", "none");
  } else {
    const Statistics of = statistics_of(output.data);
    visit("type", str(output.data.type), "elements", of.count + of.not_finite, "not_finite", of.not_finite,
          "mean", of.mean, "deviation", of.deviation, "min", of.min, "max", of.max);
  }
  if (output.verdict == nullptr) return;
  visit("right", output.verdict->is_right, "note", output.verdict->note);
  if (std::isfinite(output.verdict->absolute)) visit("difference", output.verdict->absolute);
}

struct CallFields {
  std::vector<std::uint64_t> ns;
  std::vector<OutputFields> outputs;
};

// Null for an output of no test case, or without an expected one.
const OutputError* verdict_of(const RunResult& result, std::size_t call, std::size_t output) {
  const bool has_verdict = call < result.verdicts.size() && output < result.verdicts[call].size();
  return has_verdict ? &result.verdicts[call][output] : nullptr;
}

std::string verdict_text(const OutputError* verdict) {
  if (verdict == nullptr) return {};
  const std::string_view word = verdict->is_right ? "right" : "WRONG";
  if (!verdict->note.empty()) return fmt::format("; {}: {}", word, verdict->note);
  return fmt::format("; largest difference {:.3g}: {}", verdict->absolute, word);
}

void fields(FieldWriter& visit, const CallFields& call) {
  visit("ns", call.ns, "outputs", call.outputs);
}

}  // namespace

static void fields(FieldWriter& visit, const RunMemory& memory) {
  visit("method", memory.method, "planned", memory.planned, "temporary", memory.temporary, "outputs",
        memory.outputs, "loading", memory.loading, "process", memory.process);
}

static void fields(FieldWriter& visit, const RunResult& result) {
  std::vector<CallFields> calls;
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    calls.push_back({.ns = result.call_ns[i], .outputs = {}});
    for (std::size_t k = 0; k < result.outputs[i].size(); ++k)
      calls.back().outputs.push_back({as_tensor(result.outputs[i][k]), verdict_of(result, i, k)});
  }
  visit("version", 1, "program", result.program, "method", result.method, "load_ns", result.load_ns, "memory",
        result.memory, "calls", calls, "stand_ins", result.stand_ins);
}

std::string statistics_text(const TensorData& data) {
  if (data.storage == nullptr) return "none";
  const Statistics of = statistics_of(data);
  std::string text = str(data.type);
  if (of.count == 1) text += fmt::format(", {:.6g}", of.mean);
  if (of.count > 1)
    text += fmt::format(", mean {:.4g}, deviation {:.4g}, {:.4g} to {:.4g}", of.mean, of.deviation, of.min,
                        of.max);
  if (of.not_finite > 0) text += fmt::format(", {} not finite", of.not_finite);
  return text;
}

std::string run_json(const RunResult& result) {
  return json_document(result);
}

std::string run_text(const RunResult& result, bool has_color) {
  doc::Document document;
  const Times times = times_of(result);
  std::string title = result.method;
  if (times.calls > 0) title += fmt::format(": {:.3f} ms a call", milliseconds(times.median));
  if (times.calls > 1)
    title += fmt::format(" ({} calls, {:.3f} to {:.3f})", times.calls, milliseconds(times.least),
                         milliseconds(times.most));
  document.line(title);
  for (std::size_t call = 0; call < result.outputs.size(); ++call) {
    std::string of_call = result.outputs.size() > 1 ? fmt::format("call {}, ", call) : "";
    if (!result.verdicts.empty()) of_call = fmt::format("test case {}, ", call);
    for (std::size_t i = 0; i < result.outputs[call].size(); ++i)
      document.print("  {}output {}: {}{}", of_call, i, statistics_text(as_tensor(result.outputs[call][i])),
                     verdict_text(verdict_of(result, call, i)));
  }
  if (!result.stand_ins.empty())
    document.print("  executed by the reference kernels: {}", stand_ins_text(result.stand_ins));
  const RunMemory& memory = result.memory;
  document.print("Loaded in {:.3f} ms; the process took {} at most", milliseconds(result.load_ns),
                 bytes_text(memory.process));
  document.print("  {} of the method allocator, {} of planned memory, {} temporary",
                 bytes_text(memory.method), bytes_text(memory.planned), bytes_text(memory.temporary));
  if (memory.outputs > 0)
    document.print("  {} for outputs without planned memory", bytes_text(memory.outputs));
  document.print("  {} of the heap while loading, such as packed weights", bytes_text(memory.loading));
  return render_text(document, {.has_color = has_color});
}

}  // namespace depute
