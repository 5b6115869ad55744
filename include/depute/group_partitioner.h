// GroupPartitioner: takes groups of nodes, each whole or not at all, and nodes beside them if asked to.
//
//   GroupPartitioner(groups_by_name({{"dequant", "conv", "quant"}}), {.owner = "mine", .spec = {"Mine", {}}})
//
//   dequant -> conv -> quant -> tan -> relu       mine0: dequant conv quant
//
// Groups that need each other, or that neighbour each other, share a region (RegionMode::Apart keeps
// neighbours apart). A group around a node that is not taken is left out, with the path as the reason.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "depute/proposing_partitioner.h"

#pragma GCC visibility push(default)

namespace depute {

using NodeGroups = std::vector<std::vector<const Node*>>;
using GroupFunction = std::function<Result<NodeGroups>(const Program&, const Method&)>;

// Groups by the names of their nodes (of any of a node's results), each found in the first graph of the
// method that has all of its names. A group of another method is left to it; names that are nowhere are an
// error.
GroupFunction groups_by_name(std::vector<std::vector<std::string>> names);

class GroupPartitioner : public ProposingPartitioner {
 public:
  // `support` is asked for the nodes outside of groups; without it they are refused with the rule "no-group".
  GroupPartitioner(GroupFunction groups, ProposeOptions options, SupportFunction support = {})
      : groups_(std::move(groups)), options_(std::move(options)), support_(std::move(support)) {}

 protected:
  // A node in two groups is an error.
  Result<Proposal> propose(const Program& program, const Method& method) const override;

 private:
  GroupFunction groups_;
  ProposeOptions options_;
  SupportFunction support_;
};

}  // namespace depute

#pragma GCC visibility pop
