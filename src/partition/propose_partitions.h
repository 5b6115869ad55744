// From "can the backend take this node?" to a PartitionResult: what most partitioners are made of.
//
//   propose_partitions(method,
//                      [](const Node& node) { return node.op() == "aten.relu.default" ? take() :
//                      refuse("op"); },
//                      {.owner = "mine", .spec = {"MyBackend", {}}})
//
// Asks for every node once, grows regions (grow_regions.h), tags them owner0, owner1, ... in graph order,
// moves the constants they use along, and gives every node its verdict.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "partition/grow_regions.h"
#include "partition/partitioner.h"

namespace depute {

// A backend's answer about one node. Neutral nodes (views, copies) join a region only where that helps it.
struct NodeSupport {
  Support support = Support::Unsupported;
  Verdict refusal;  // rule, seen, allowed; for Unsupported
};

inline NodeSupport take() {
  return {Support::Supported, {}};
}
inline NodeSupport take_if_useful() {
  return {Support::Neutral, {}};
}
NodeSupport refuse(std::string_view rule, std::string_view seen = {}, std::string_view allowed = {});

using SupportFunction = std::function<NodeSupport(const Node&)>;

struct ProposeOptions {
  std::string owner;    // the backend's name in verdicts; tags are owner0, owner1, ...
  DelegationSpec spec;  // of every tag
  RegionOptions regions;
  std::vector<std::vector<const Node*>> groups;  // nodes that the backend takes together or not at all
  bool move_constants = true;  // else constants stay with the method and are passed as arguments
};

// Calls of delegates that an earlier backend took are refused without asking. Rules of the verdicts it adds
// to the backend's own: "no-compute" (a neutral node without a region that needs it), "too-small"
// (RegionOptions::min_nodes), "group" (its group could not be kept whole).
PartitionResult propose_partitions(const Method& method, const SupportFunction& support,
                                   const ProposeOptions& options);

}  // namespace depute
