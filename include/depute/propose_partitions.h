// From "can the backend take this node?" to a PartitionResult: what most partitioners are made of.
//
//   auto support = [](const Node& node) { return node.op() == "aten.relu.default" ? take() : refuse("op"); };
//   return propose_partitions(program, method, support, {.owner = "mine", .spec = {"MyBackend", {}}});
//
// Asks for every node once, grows regions (grow_regions.h), tags them owner0, owner1, ... in graph order,
// moves the constants they use along, and gives every node its verdict. Bodies of control flow are graphs of
// their own, visited in the order of walk_graphs (ir/walk.h); tags are numbered on over them. A control-flow
// node that is itself taken goes with its bodies: their nodes get verdicts, but no tags.
//
// Calls of delegates that an earlier backend made are refused without asking. Rules of the verdicts it adds
// to the backend's own:
//
//   no-compute   a neutral node that no region needs, or a piece that gains nothing
//   too-small    a piece with fewer nodes than RegionOptions::min_nodes
//   not-worth    a piece that gains less than DelegateCost
//   group        a node of a group that could not stay whole
//   delegated    a call of a delegate
//   several      refused by several owners for different reasons (plan_together.h)
#pragma once

#include <span>
#include <vector>

#include "depute/proposal.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

// Groups are made of nodes of the method, those of each group of one graph. plan_together() asks for it; who
// looks at groups before does, too.
Status check_groups(const Method& method, std::span<const std::vector<const Node*>> groups);

// Fails only for wrong groups, and for a proposal without a support function.
Result<PartitionResult> propose_partitions(const Program& program, const Method& method,
                                           const Proposal& proposal);
Result<PartitionResult> propose_partitions(const Program& program, const Method& method,
                                           SupportFunction support, ProposeOptions options);

}  // namespace depute

#pragma GCC visibility pop
