// GroupPartitioner: takes groups of nodes, each as a whole or not at all, and optionally other nodes.
//
//   GroupPartitioner(groups_by_name({{"dequant", "conv", "quant"}}), {.owner = "mine", .spec = {"Mine", {}}})
//
//   dequant -> conv -> quant -> tan -> relu       mine0: dequant conv quant
//
// Groups that depend on each other or are neighbors share a region (RegionMode::Apart separates neighbors). A
// group that encloses a node that is not taken is rejected, with the path as the reason.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "depute/backend/proposing_partitioner.h"

#pragma GCC visibility push(default)

namespace depute {

using NodeGroups = std::vector<std::vector<const Node*>>;
using GroupFunction = std::function<Result<NodeGroups>(const Program&, const Method&)>;

// Returns a function that makes groups from names of nodes (of any result). Each group is looked up in the
// first graph of the method that has all of its names. Groups of other methods are skipped. Fails for names
// that do not exist in any method.
GroupFunction groups_by_name(std::vector<std::vector<std::string>> names);

class GroupPartitioner : public ProposingPartitioner {
 public:
  // `support` decides about nodes outside groups; without it, these are rejected with the rule "no-group".
  GroupPartitioner(GroupFunction groups, ProposeOptions options, SupportFunction support = {})
      : groups_(std::move(groups)), options_(std::move(options)), support_(std::move(support)) {}

 protected:
  // Fails if a node is in two groups.
  Result<Proposal> propose(const Program& program, const Method& method) const override;

 private:
  GroupFunction groups_;
  ProposeOptions options_;
  SupportFunction support_;
};

}  // namespace depute

#pragma GCC visibility pop
