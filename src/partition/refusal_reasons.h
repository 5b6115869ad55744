// The verdicts of a plan: why nodes of a graph are undelegated.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "partition/graph_answers.h"
#include "regions/plan_owners.h"

namespace depute {

// Verdict for a neutral node that no region needs.
inline constexpr std::string_view nothing_computed = "the partition would compute nothing else";

class RefusalReasons {
 public:
  // One owner's part of the plan. `groups` is in the order of the question.
  struct Owner {
    const ProposeOptions& options;
    GraphAnswers& answers;  // refusals are moved out of it
    const OwnerAnswer& plan;
    std::span<const std::vector<const Node*>* const> groups;
  };

  // `order` maps `nodes` to their numbers.
  RefusalReasons(const std::vector<const Node*>& nodes, const NodeOrder& order, std::vector<Owner> owners);

  // Returns the verdict for an undelegated node. Call it once per node: it moves refusals out.
  Verdict of(std::uint32_t node) const;

 private:
  // node -> its dissolved group
  using Dissolved = std::unordered_map<std::uint32_t, const DissolvedGroup*>;

  Verdict by_owner(std::size_t owner, std::uint32_t node) const;
  Verdict by_island(const Owner& owner, const RefusedIsland& island) const;
  Verdict by_group(std::size_t owner, std::uint32_t node) const;

  const std::vector<const Node*>& nodes_;
  std::vector<Owner> owners_;
  std::vector<Dissolved> dissolved_;  // by owner
};

}  // namespace depute
