// A backend's wishes as data: its answer for each node, and how regions shall be made of the answers.
//
//   Proposal{.support = [](const Node& node) {
//              return node.op() == "aten.relu.default" ? take() : refuse("op", node.op().str());
//            },
//            .options = {.owner = "mine", .spec = {"MyBackend", {}}}}
//
// propose_partitions.h makes a PartitionResult of one, plan_together.h of several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "depute/partition_result.h"
#include "depute/region_options.h"

#pragma GCC visibility push(default)

namespace depute {

// A backend's answer about one node. Neutral nodes (views, copies) join a region only where that helps it.
struct NodeSupport {
  Support support = Support::Unsupported;
  // What the backend saves by taking the node, in the unit of DelegateCost. 0: the node is taken, but does
  // not make a delegate worth having.
  std::uint64_t gain = 1;
  Verdict refusal;  // rule, seen, allowed; for Unsupported
};

inline NodeSupport take(std::uint64_t gain = 1) {
  return {Support::Supported, gain, {}};
}
inline NodeSupport take_if_useful() {
  return {Support::Neutral, 0, {}};
}
NodeSupport refuse(std::string_view rule, std::string_view seen = {}, std::string_view allowed = {});

// Also asked for nodes in bodies: node.graph() tells where it is. The inputs of bodies are no constants.
using SupportFunction = std::function<NodeSupport(const Node&)>;

// What handing a connected piece of a region over costs, in a unit of the backend's choice (nanoseconds,
// say): pieces that save less are not delegated.
struct DelegateCost {
  std::uint64_t launch = 0;   // per call
  std::uint64_t per_kib = 0;  // of values that go in and come out; sizes that are not known count one byte
};

// Which data goes along with the nodes that use it.
enum class MovedData : std::uint8_t {
  None,               // everything stays with the method and is passed as arguments
  Constants,          // parameters, buffers and constants that nothing mutates
  ConstantsAndState,  // also buffers that only one delegate reads and mutates
  Everything,         // also constants that nothing uses, with the first partition
};

struct ProposeOptions {
  std::string owner = {};    // the backend's name in verdicts; tags are owner0, owner1, ...
  DelegationSpec spec = {};  // of every tag
  RegionOptions regions = {};
  // Nodes that the backend takes together or not at all, whatever it answers for each. Nodes of one group are
  // in one graph.
  std::vector<std::vector<const Node*>> groups = {};
  // Sets of nodes that are regions of their own where they can be whole: steps that repeat, say, which become
  // equal delegates, of which a program has one. Nodes of one set are in one graph, and no node is in two.
  std::vector<std::vector<const Node*>> apart = {};
  MovedData moved_data = MovedData::Constants;
  DelegateCost cost = {};
  // Arguments and results that one delegate may have; regions with more are made smaller.
  std::size_t max_values = std::numeric_limits<std::size_t>::max();
  bool take_delegates = false;  // also ask for calls of delegates that an earlier backend made
};

struct Proposal {
  SupportFunction support = {};
  ProposeOptions options = {};
};

}  // namespace depute

#pragma GCC visibility pop
