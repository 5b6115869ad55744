#include "requested_backends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "depute/backend/partitioners.h"
#include "depute/backend/pins.h"
#include "depute/program/result.h"
#include "lower/guarded_backend.h"
#include "support/try.h"

namespace depute {
namespace {

std::string unknown_backend_hint(const BackendRequest& request, const Registry& registry) {
  std::vector<std::string> names;
  for (const BackendEntry& entry : registry.entries()) names.push_back(entry.name);
  const std::string meant = did_you_mean(request.name, names);
  return fmt::format("{}{}built in: {}{}{}", meant, meant.empty() ? "" : " ", fmt::join(names, ", "),
                     request.sought.empty() ? "" : "; not found: ", request.sought);
}

}  // namespace

Result<std::vector<RequestedBackend>> find_backends(const std::vector<BackendRequest>& requests,
                                                    const Registry& registry) {
  std::vector<RequestedBackend> backends;
  for (const BackendRequest& request : requests) {
    const BackendEntry* entry = registry.find(request.name);
    if (request.partitioner != nullptr) {
      backends.push_back(
          {request.name, entry, guarded_partitioner(request.name, request.partitioner), request.method});
      continue;
    }
    if (entry == nullptr && registry.find(request.method) != nullptr) {
      return failure("usage", "--backend",
                     fmt::format("option '{}' must have the form key=value", request.name));
    }
    if (entry == nullptr) {
      return failure("usage", "--backend", fmt::format("there is no backend '{}'", request.name),
                     unknown_backend_hint(request, registry));
    }
    BackendOptions own = request.options;
    TRY(PartitionControls controls, take_partition_controls(entry->name, own));
    TRY(std::unique_ptr<Partitioner> partitioner, make_partitioner(*entry, own));
    backends.push_back(
        {entry->name, entry, filtered(std::move(partitioner), std::move(controls)), request.method});
  }
  return backends;
}

Status check_methods(const Program& program, const std::vector<BackendRequest>& requests) {
  for (const BackendRequest& request : requests) {
    if (request.method.empty() || program.find_method(request.method) != nullptr) continue;
    std::vector<std::string> names;
    for (const auto& method : program.methods) names.emplace_back(method->name.str());
    return failure(
        "usage", "--backend", fmt::format("there is no method '{}'", request.method),
        did_you_mean(request.method, names, fmt::format("the methods are {}", fmt::join(names, ", "))));
  }
  return {};
}

namespace {

Round round_of_all(const Program& program, const std::vector<RequestedBackend>& backends) {
  Round round;
  for (const auto& method : program.methods) {
    std::vector<std::shared_ptr<const Partitioner>> partitioners;
    for (const RequestedBackend& backend : backends) {
      if (backend.is_for(*method)) partitioners.push_back(backend.partitioner);
    }
    if (partitioners.empty()) continue;
    round.owned.push_back(std::make_unique<SeveralPartitioners>(std::move(partitioners)));
    round.partitioners.emplace(method->name.str(), round.owned.back().get());
    round.asked.emplace(method->name, "all backends");
  }
  return round;
}

}  // namespace

std::vector<Round> rounds_of(const Program& program, const std::vector<RequestedBackend>& backends,
                             bool joint_planning) {
  std::vector<Round> rounds;
  if (joint_planning && backends.size() > 1) {
    rounds.push_back(round_of_all(program, backends));
    return rounds;
  }
  for (const RequestedBackend& backend : backends) {
    const auto is_asked_already = [&](const auto& method) {
      return backend.is_for(*method) && rounds.back().asked.contains(method->name);
    };
    if (rounds.empty() || std::ranges::any_of(program.methods, is_asked_already)) rounds.emplace_back();
    for (const auto& method : program.methods) {
      if (!backend.is_for(*method)) continue;
      rounds.back().partitioners.emplace(method->name.str(), backend.partitioner.get());
      rounds.back().asked.emplace(method->name, backend.name);
    }
  }
  return rounds;
}

}  // namespace depute
