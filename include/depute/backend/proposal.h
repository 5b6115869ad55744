// Proposal: a backend's answer per node, and options for making regions from these answers.
//
//   Proposal{.support = [](const Node& node) {
//              return node.op() == "aten.relu.default" ? take() : refuse("op", node.op().str());
//            },
//            .options = {.owner = "mine", .spec = {"MyBackend", {}}}}
//
// propose_partitions() (partitioner.h) makes a PartitionResult from one proposal, plan_jointly()
// (partitioners.h) from several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/backend/region_options.h"
#include "depute/program/program.h"

namespace depute {

struct DelegationSpec {
  std::string backend_id = {};
  std::vector<CompileSpec> compile_specs = {};
  friend bool operator==(const DelegationSpec&, const DelegationSpec&) = default;
};

// Reason why a node is or is not delegated. Each backend has a closed set of rules ("dtype", "rank",
// "static-weight", ...).
struct Verdict {
  bool delegated = false;
  std::string owner = {};    // backend name if delegated; else empty
  std::string rule = {};     // id of the rule that rejected the node; empty if delegated
  std::string seen = {};     // value found: "i64"
  std::string allowed = {};  // allowed values: "f32, f16"
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// A backend's answer about one node. Neutral nodes (views, copies) join a region only if that helps the
// region.
struct NodeSupport {
  Support support = Support::Unsupported;
  // Cost saved by taking the node, in the unit of DelegateCost. 0: the node is taken, but does not justify a
  // delegate by itself.
  std::uint64_t gain = 1;
  Verdict refusal;  // rule, seen, allowed; only for Unsupported
};

inline NodeSupport take(std::uint64_t gain = 1) {
  return {Support::Supported, gain, {}};
}
inline NodeSupport take_if_useful() {
  return {Support::Neutral, 0, {}};
}
DEPUTE_API NodeSupport refuse(std::string_view rule, std::string_view seen = {},
                              std::string_view allowed = {});

// Called for nodes in the graph and in bodies (see node.graph()). Inputs of bodies are not constants.
using SupportFunction = std::function<NodeSupport(const Node&)>;

// Cost of delegating a connected piece of a region, in a unit of the backend's choice (for example
// nanoseconds). Pieces that save less are not delegated.
struct DelegateCost {
  std::uint64_t launch = 0;   // cost per call
  std::uint64_t per_kib = 0;  // cost per KiB of inputs and outputs; an unknown size counts one byte
};

// Data that move into the delegate together with the nodes that use them.
enum class MovedData : std::uint8_t {
  None,               // all data stay with the method and are passed as arguments
  Constants,          // parameters, buffers and constants without mutation
  ConstantsAndState,  // also buffers that only one delegate reads and mutates
  Everything,         // also unused constants, which go to the first partition
};

struct ProposeOptions {
  std::string owner = {};    // backend name in verdicts; tags are owner0, owner1, ...
  DelegationSpec spec = {};  // delegation spec of every tag
  RegionOptions regions = {};
  // Node groups that are taken as a whole or not at all, whatever `support` answers for each node. All nodes
  // of a group are in one graph.
  std::vector<std::vector<const Node*>> groups = {};
  // Node sets that become a region each if they can be placed whole, for example the repeated steps of an
  // RNN. Identical regions share one delegate. All nodes of a set are in one graph; no node is in two sets.
  std::vector<std::vector<const Node*>> isolated_sets = {};
  MovedData moved_data = MovedData::Constants;
  DelegateCost cost = {};
  // Maximum number of arguments and results of a delegate; regions with more are split.
  std::size_t max_values = std::numeric_limits<std::size_t>::max();
  bool take_delegates = false;  // also take calls of earlier backends' delegates if `support` accepts them
};

struct Proposal {
  SupportFunction support = {};
  ProposeOptions options = {};
};

}  // namespace depute
