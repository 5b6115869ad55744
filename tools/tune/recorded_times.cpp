#include "tools/tune/recorded_times.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/mapped_file.h"
#include "support/try.h"
#include "tools/profile/debug_map.h"

namespace depute {
namespace {

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> handles) {
  std::ranges::sort(handles);
  return handles;
}

Failure unknown(const MappedInstruction& instruction, std::string_view what) {
  const std::string& name = instruction.delegate.empty() ? instruction.name : instruction.delegate;
  return failure("tune", "", fmt::format("no profile has {} of {}", what, name));
}

}  // namespace

Result<RecordedTimes> RecordedTimes::read(const std::vector<RecordedFiles>& files) {
  RecordedTimes times;
  for (const RecordedFiles& each : files) TRY_STATUS(times.add(each));
  return times;
}

Status RecordedTimes::add(const RecordedFiles& files) {
  TRY(const std::shared_ptr<const MappedFile> dump, open_input(files.dump));
  TRY(const std::shared_ptr<const MappedFile> map, open_input(files.map));
  if (map->bytes().empty()) return failure("profile", files.map, "the file is empty");
  TRY(const Profile profile,
      profile_of(
          {.dump = dump->bytes(), .dump_name = files.dump, .map = map->bytes(), .map_name = files.map}));
  for (const MethodProfile& method : profile.methods) {
    methods_.insert(method.method);
    for (const ProfiledInstruction& instruction : method.instructions)
      add(instruction, static_cast<double>(method.runs));
  }
  return {};
}

void RecordedTimes::add(const ProfiledInstruction& instruction, double runs) {
  const double all = static_cast<double>(instruction.ticks) / runs;
  instructions_[{instruction.callee, instruction.handles}].add(all);
  if (instruction.pieces.empty()) return;
  std::map<Work, double> parts;
  double besides = all;
  for (const ProfiledPiece& piece : instruction.pieces) {
    const double ns = static_cast<double>(piece.ticks) / runs;
    besides -= ns;
    if (!piece.handles.empty()) parts[{instruction.callee, piece.handles}] += ns;
  }
  for (const auto& [work, ns] : parts) parts_[work].add(ns);
  besides_[instruction.callee].add(std::max(besides, 0.0) * runs / static_cast<double>(instruction.calls));
}

Result<std::uint64_t> RecordedTimes::of(const Executable& executable) const {
  const DebugMap map = make_debug_map(executable.program(), executable.plan(), "");
  double sum = 0;
  for (const auto& [name, method] : map.methods) {
    if (!methods_.contains(name)) continue;
    for (const MappedInstruction& instruction : method.instructions) {
      if (instruction.kind != "kernel" && instruction.kind != "delegate") continue;
      TRY(const double ns, of(instruction));
      sum += ns;
    }
  }
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(sum), 1);
}

Result<double> RecordedTimes::of(const MappedInstruction& instruction) const {
  const auto found = instructions_.find({instruction.name, sorted(instruction.handles)});
  if (found != instructions_.end()) return found->second.value();
  if (instruction.kind == "delegate") return of_parts(instruction);
  return unknown(instruction, "these nodes");
}

Result<double> RecordedTimes::of_parts(const MappedInstruction& delegate) const {
  const auto besides = besides_.find(delegate.name);
  if (besides == besides_.end() || !delegate.pieces || delegate.pieces->empty())
    return unknown(delegate, "the parts");
  std::set<Work> parts;
  for (const MappedPiece& piece : *delegate.pieces) parts.emplace(delegate.name, sorted(piece.handles));
  double sum = besides->second.value();
  for (const Work& part : parts) {
    const auto found = parts_.find(part);
    if (found == parts_.end()) return unknown(delegate, "all parts");
    sum += found->second.value();
  }
  return sum;
}

}  // namespace depute
