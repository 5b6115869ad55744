#include "lower/state_owners.h"

#include <fmt/format.h>

#include <algorithm>

#include "depute/program/walk.h"
#include "lower/lowering_error.h"

namespace depute {

void StateOwners::add(const CarvedMethod& carved) {
  if (stateful_.empty()) return;
  add(*carved.method->graph, carved.method->name, nullptr);
  for (const CarvedPartition& partition : carved.partitions)
    add(*partition.program->methods.front()->graph, carved.method->name, &partition);
}

void StateOwners::add(const Graph& graph, Name method, const CarvedPartition* partition) {
  for (const Graph* below : graphs_below(graph)) {
    for (const Node& node : below->nodes()) {
      Name delegate = called_delegate(node);
      if (stateful_.contains(delegate)) calls_[delegate].push_back({&node, method, partition});
    }
  }
}

Status StateOwners::check() const {
  for (const auto& [delegate, calls] : calls_) {
    auto is_apart = [&](const Call& call) { return call.partition != calls.front().partition; };
    if (std::ranges::any_of(calls, is_apart)) return split(delegate, calls);
  }
  return {};
}

std::string StateOwners::text(const Call& call) {
  std::string place =
      call.partition == nullptr ? "outside" : fmt::format("tag {}", call.partition->tag.str());
  return fmt::format("{}{} (method {}, {})", call.node->results().empty() ? "" : "%",
                     call.node->display_name(), call.method.str(), place);
}

Failure StateOwners::split(Name delegate, const std::vector<Call>& calls) {
  std::string list;
  for (const Call& call : calls) list += (list.empty() ? "" : ", ") + text(call);
  auto taken = std::ranges::find_if(calls, [](const Call& call) { return call.partition != nullptr; });
  std::string name = fmt::format("delegate '{}'", delegate.str());
  LoweringPlace place{
      .method = taken->method.str(), .node = taken->node, .value = name, .tag = taken->partition->tag.str()};
  return lowering_error(
      LoweringFault::SplitState, place,
      fmt::format("{} keeps state, but its calls are in different partitions: {}", name, list),
      "put all of its calls into one partition, or none");
}

}  // namespace depute
