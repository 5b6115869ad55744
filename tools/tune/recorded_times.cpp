#include "tools/tune/recorded_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "support/mapped_file.h"
#include "support/try.h"
#include "tools/profile/debug_map.h"

namespace depute {
namespace {

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> handles) {
  std::ranges::sort(handles);
  return handles;
}

// Kernels have a namespace, and backends have none.
bool is_kernel(std::string_view callee) {
  return callee.find("::") != callee.npos;
}

Failure unknown(const MappedInstruction& instruction, std::string_view what) {
  const std::string& name = instruction.delegate.empty() ? instruction.name : instruction.delegate;
  return failure("tune", "", fmt::format("no profile has {} of {}", what, name));
}

}  // namespace

Result<RecordedTimes> RecordedTimes::read(const std::vector<RecordedFiles>& files) {
  RecordedTimes times;
  for (const auto& [dump_name, map_name] : files) {
    TRY(const std::shared_ptr<const MappedFile> dump, open_input(dump_name));
    TRY(const std::shared_ptr<const MappedFile> map, open_input(map_name));
    if (map->bytes().empty()) return failure("profile", map_name, "the file is empty");
    TRY(const Profile profile,
        profile_of(
            {.dump = dump->bytes(), .dump_name = dump_name, .map = map->bytes(), .map_name = map_name}));
    times.add(profile);
  }
  return times;
}

void RecordedTimes::add(const Profile& profile) {
  for (const MethodProfile& method : profile.methods) {
    methods_.insert(method.method);
    for (const ProfiledInstruction& instruction : method.instructions)
      add(instruction, static_cast<double>(method.runs));
  }
}

void RecordedTimes::add(const ProfiledInstruction& instruction, double runs) {
  const double all = static_cast<double>(instruction.ticks) / runs;
  instructions_[{instruction.callee, instruction.handles}].add(all);
  if (!is_kernel(instruction.callee))
    delegates_.try_emplace(instruction.handles, instruction.lines, instruction.module);
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

// The kernels that execute these nodes and no others; none if a node has no such kernel.
std::optional<double> RecordedTimes::of_kernels(const std::vector<std::uint32_t>& handles) const {
  std::set<std::uint32_t> found;
  double sum = 0;
  for (const auto& [work, ns] : instructions_) {
    const auto& [callee, nodes] = work;
    if (!is_kernel(callee) || nodes.empty() || !std::ranges::includes(handles, nodes)) continue;
    found.insert(nodes.begin(), nodes.end());
    sum += ns.value();
  }
  return std::ranges::equal(found, handles) ? std::optional(sum) : std::nullopt;
}

std::vector<TunedRegion> RecordedTimes::regions() const {
  std::map<std::vector<std::uint32_t>, TunedRegion> by_nodes;
  for (const auto& [handles, place] : delegates_)
    by_nodes.emplace(handles, TunedRegion{.lines = place.lines, .module = place.module, .ns = {}});
  for (const auto& [work, ns] : instructions_) {
    const auto region = by_nodes.find(work.second);
    if (region != by_nodes.end() && !is_kernel(work.first))
      region->second.ns.emplace(work.first, static_cast<std::uint64_t>(ns.value()));
  }
  std::vector<TunedRegion> regions;
  for (auto& [handles, region] : by_nodes) {
    if (const auto ns = of_kernels(handles)) region.ns.emplace("kernels", static_cast<std::uint64_t>(*ns));
    regions.push_back(std::move(region));
  }
  const auto least = [](const TunedRegion& region) {
    return std::ranges::min(region.ns | std::views::values);
  };
  std::ranges::stable_sort(regions, std::ranges::greater(), least);
  return regions;
}

}  // namespace depute
