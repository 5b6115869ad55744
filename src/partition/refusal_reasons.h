// Why the nodes of a graph that were left out were left out: the verdicts of a plan.
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

// Of a neutral node that no region needs.
inline constexpr std::string_view nothing_computed = "nothing is computed beside it";

class RefusalReasons {
 public:
  // One owner's part of the plan. `groups` by number, as they were asked for.
  struct Owner {
    const ProposeOptions& options;
    GraphAnswers& answers;  // refusals are moved out of it
    const OwnerAnswer& plan;
    std::span<const std::vector<const Node*>* const> groups;
  };

  // `order` has the numbers of `nodes`.
  RefusalReasons(const std::vector<const Node*>& nodes, const NodeOrder& order, std::vector<Owner> owners);

  // Of a node in no region; asked once.
  Verdict of(std::uint32_t node) const;

 private:
  // Dissolved groups by node.
  using Dissolved = std::unordered_map<std::uint32_t, const DissolvedGroup*>;

  Verdict by_owner(std::size_t owner, std::uint32_t node) const;
  Verdict by_island(const Owner& owner, const RefusedIsland& island) const;
  Verdict by_group(std::size_t owner, std::uint32_t node) const;

  const std::vector<const Node*>& nodes_;
  std::vector<Owner> owners_;
  std::vector<Dissolved> dissolved_;  // per owner
};

}  // namespace depute
