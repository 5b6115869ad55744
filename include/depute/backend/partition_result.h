// Result of a partitioner: a tag per node, the backend of each tag, and the reasons why other nodes stay
// undelegated.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "depute/backend/region_options.h"
#include "depute/program/program.h"

#pragma GCC visibility push(default)

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

// The options that plan_together() drew a partition by. find_splits() names the option that separates two
// partitions.
struct PartitionPlan {
  RegionMode mode = RegionMode::Settled;
  Horizontal horizontal = Horizontal::All;
  std::uint32_t max_nodes = std::numeric_limits<std::uint32_t>::max();
  bool is_cut_by_values = false;  // max_nodes follows from ProposeOptions::max_values
  bool is_isolated = false;       // a set of ProposeOptions::apart
};

struct PartitionResult {
  std::map<Name, DelegationSpec, SymbolTextLess> partition_tags;
  // Tag per node, for nodes of the method's graph and its bodies. Untagged nodes run on the portable runtime;
  // nodes in the bodies of a tagged control-flow node belong to its tag. Graphs are in the order of
  // walk_graphs (ir/walk.h), nodes in graph order.
  std::vector<std::pair<const Node*, Name>> node_tags;
  // Constants, and buffers with their mutation, that move into the delegate of a tag. A constant used by
  // several tags is listed once for each.
  std::vector<std::pair<const Value*, Name>> constant_tags;
  // Constants that must not be copied: to_backend() fails if one moves into a delegate and has users
  // elsewhere. Other constants are copied, which copies a view but no bytes.
  std::vector<const Value*> no_copy;
  // Reasons, each node at most once. Tags are decisive: a node without a verdict, or with one that
  // contradicts its tag, gets a verdict derived from the tag.
  std::vector<std::pair<const Node*, Verdict>> verdicts;
  // By tag, for partitions of plan_together(); other partitioners leave it empty.
  std::unordered_map<Name, PartitionPlan> plans;
};

}  // namespace depute

#pragma GCC visibility pop
