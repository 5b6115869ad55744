// Writes a profile for other programs: as a table for spreadsheets, and as a trace for Perfetto.
//
//   method   instruction  name           module  lines        calls  ticks
//   forward  1            aten::tan.out  act     model.py:39  3      135000
#include <fmt/format.h>

#include <map>

#include "depute/tools/profile.h"
#include "support/fields.h"

namespace depute {
namespace {

// Tabs and line feeds would be cells and rows.
std::string cell(std::string text) {
  for (char& each : text)
    if (each == '\t' || each == '\n' || each == '\r') each = ' ';
  return text;
}

// An event of the format that Chrome's tracing introduced: times in microseconds, nested by their times in a thread.
struct TraceEvent {
  const ProfileEvent& event;
};

struct TraceArguments {
  const ProfileEvent& event;
};

constexpr int own_thread = 1;
constexpr int backend_thread = 2;  // backends have a clock of their own, by which events would not nest

void fields(FieldWriter& visit, const TraceArguments& of) {
  visit("run", of.event.run, "lines", of.event.lines, "module", of.event.module);
}

void fields(FieldWriter& visit, const TraceEvent& of) {
  constexpr double ticks_of_microsecond = 1e3;
  const double start = static_cast<double>(of.event.start) / ticks_of_microsecond;
  const double time = static_cast<double>(of.event.ticks) / ticks_of_microsecond;
  visit("name", of.event.name, "ph", "X", "ts", start, "dur", time, "pid", 1, "tid",
        of.event.is_piece ? backend_thread : own_thread, "args", TraceArguments{of.event});
}

struct ThreadName {
  std::string name;
};

void fields(FieldWriter& visit, const ThreadName& of) {
  visit("name", of.name);
}

struct Thread {
  int number = 0;
  ThreadName name;
};

void fields(FieldWriter& visit, const Thread& of) {
  visit("name", "thread_name", "ph", "M", "pid", 1, "tid", of.number, "args", of.name);
}

}  // namespace

NamedArrays profile_arrays(const Profile& profile) {
  NamedArrays arrays;
  std::map<std::string, int> counts;
  for (const ProfiledTensor& tensor : profile.tensors) {
    std::string name = tensor.instruction < 0
                           ? fmt::format("run_{}.result", tensor.run)
                           : fmt::format("run_{}.instruction_{}", tensor.run, tensor.instruction);
    if (const int before = counts[name]++; before > 0) name += fmt::format("_{}", before);
    arrays.emplace_back(std::move(name), tensor.data);
  }
  return arrays;
}

std::string profile_tsv(const Profile& profile) {
  std::string text = "method\tinstruction\tname\tpiece\tmodule\tlines\tcalls\tticks\n";
  const auto add = [&](const MethodProfile& method, const ProfiledInstruction& of, const auto& row,
                       const std::string& piece) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", cell(method.method), of.index, cell(of.name),
                        cell(piece), cell(row.module), cell(row.lines), row.calls, row.ticks);
  };
  for (const MethodProfile& method : profile.methods) {
    for (const ProfiledInstruction& instruction : method.instructions) {
      add(method, instruction, instruction, "");
      for (const ProfiledPiece& piece : instruction.pieces) add(method, instruction, piece, piece.identifier);
    }
  }
  return text;
}

std::string profile_timeline(const Profile& profile) {
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  append_json(text, Thread{own_thread, {"runtime"}}, 0);
  text += ",\n";
  append_json(text, Thread{backend_thread, {"inside delegates"}}, 0);
  for (const ProfileEvent& event : profile.events) {
    text += ",\n";
    append_json(text, TraceEvent{event}, 0);
  }
  return text + "\n]}\n";
}

}  // namespace depute
