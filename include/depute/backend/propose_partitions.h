// Makes a PartitionResult from a function that says which nodes the backend can take. Most partitioners use
// it.
//
//   auto support = [](const Node& node) { return node.op() == "aten.relu.default" ? take() : refuse("op"); };
//   return propose_partitions(program, method, support, {.owner = "mine", .spec = {"MyBackend", {}}});
//
// Calls `support` once per node, grows regions (grow_regions.h), tags them owner0, owner1, ... in graph
// order, moves the constants they use, and gives every node a verdict. Control-flow bodies are separate
// graphs, visited in the order of walk_graphs (ir/walk.h); tag numbers continue over them. A taken
// control-flow node includes its bodies: their nodes get verdicts, but no tags.
//
// Calls of earlier backends' delegates are rejected without calling `support`, unless take_delegates is set.
// Additional rules in verdicts:
//
//   no-compute   a neutral node that no region needs, or a node of an island without gain
//   too-small    a node of an island with fewer nodes than RegionOptions::min_nodes
//   not-worth    a node of an island whose gain is below its DelegateCost
//   group        a node of a group that cannot be taken as a whole
//   delegated    a call of a delegate
//   several      a node that several owners rejected for different reasons (plan_together.h)
#pragma once

#include <span>
#include <vector>

#include "depute/backend/proposal.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

// Fails unless each group consists of nodes of one graph of the method. plan_together() calls it; other code
// that inspects groups must call it first.
Status check_groups(const Method& method, std::span<const std::vector<const Node*>> groups);

// Fails only for invalid groups and for a proposal without a support function.
Result<PartitionResult> propose_partitions(const Program& program, const Method& method,
                                           const Proposal& proposal);
Result<PartitionResult> propose_partitions(const Program& program, const Method& method,
                                           SupportFunction support, ProposeOptions options);

}  // namespace depute

#pragma GCC visibility pop
