// The backends of a request, with their partitioners, and the rounds in which they are asked.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "depute/compiler/compiler.h"
#include "depute/compiler/to_backend.h"

namespace depute {

// A requested backend, with the partitioner made from its options.
struct RequestedBackend {
  std::string name;           // name in the report
  const BackendEntry* entry;  // null if no backend is registered under the name
  std::shared_ptr<const Partitioner> partitioner;
  std::string method;  // the only method this backend gets; empty: all methods

  bool is_for(const Method& each) const { return method.empty() || each.name == method; }
};

// Fails for unknown backends and options.
Result<std::vector<RequestedBackend>> find_backends(const std::vector<BackendRequest>& requests,
                                                    const Registry& registry);
// Fails if a backend is requested for a method that the program does not have.
Status check_methods(const Program& program, const std::vector<BackendRequest>& requests);

// The partitioners that are asked at once, by method, and the name of each in the report.
struct Round {
  MethodPartitioners partitioners = {};
  std::unordered_map<Name, std::string> asked = {};
  std::vector<std::unique_ptr<const Partitioner>> owned = {};
};

// One round for all backends if they are planned together. Otherwise backends are asked one after another, but
// those of different methods in one round: a backend that wants all partitions together is given the partitions
// of all methods.
std::vector<Round> rounds_of(const Program& program, const std::vector<RequestedBackend>& backends,
                             bool joint_planning);

}  // namespace depute
