#include "partition/refusal_reasons.h"

#include <fmt/format.h>

#include <utility>

#include "partition/node_paths.h"

namespace depute {
namespace {

// "gpu: dtype i64, allowed f32"
std::string owner_and_reason(const std::string& owner, const Verdict& verdict) {
  std::string text = fmt::format("{}: {}", owner, verdict.rule);
  if (!verdict.seen.empty()) text += " " + verdict.seen;
  if (!verdict.allowed.empty()) text += ", allowed " + verdict.allowed;
  return text;
}

}  // namespace

RefusalReasons::RefusalReasons(const std::vector<const Node*>& nodes, const NodeOrder& order,
                               std::vector<Owner> owners)
    : nodes_(nodes), owners_(std::move(owners)) {
  for (const Owner& owner : owners_) {
    Dissolved& dissolved = dissolved_.emplace_back();
    for (const DissolvedGroup& group : owner.plan.dissolved) {
      for (const Node* node : *owner.groups[group.group]) dissolved.try_emplace(order[*node], &group);
    }
  }
}

Verdict RefusalReasons::of(std::uint32_t node) const {
  Verdict verdict = by_owner(0, node);
  if (owners_.size() == 1) return verdict;
  std::string all = owner_and_reason(owners_[0].options.owner, verdict);
  bool agree = true;
  for (std::size_t owner = 1; owner < owners_.size(); ++owner) {
    const Verdict other = by_owner(owner, node);
    agree &= other == verdict;
    all += "; " + owner_and_reason(owners_[owner].options.owner, other);
  }
  return agree ? verdict : refuse("several", all).refusal;
}

Verdict RefusalReasons::by_owner(std::size_t owner, std::uint32_t node) const {
  const OwnerAnswer& plan = owners_[owner].plan;
  switch (plan.placement[node]) {
    case NodeOutcome::TooSmall:
    case NodeOutcome::NotWorth:
      return by_island(owners_[owner], plan.refused_islands[plan.refused_island_of[node]]);
    case NodeOutcome::Neutral:
      return refuse("no-compute", nothing_computed).refusal;
    case NodeOutcome::InRegion:
    case NodeOutcome::Unsupported:
      break;
  }
  GraphAnswers& answers = owners_[owner].answers;
  const bool by_itself = answers.support[node] == Support::Unsupported && !dissolved_[owner].contains(node);
  return by_itself ? std::move(answers.refusals[answers.refusal_of[node]]) : by_group(owner, node);
}

Verdict RefusalReasons::by_island(const Owner& owner, const RefusedIsland& island) const {
  if (island.worth.gain >= island.worth.cost) {
    return refuse("too-small", fmt::format("{} nodes", island.supported_nodes),
                  fmt::format("at least {}", owner.options.regions.min_nodes))
        .refusal;
  }
  if (island.worth.gain == 0) return refuse("no-compute", nothing_computed).refusal;
  return refuse("not-worth", fmt::format("gain {}", island.worth.gain),
                fmt::format("at least {}", island.worth.cost))
      .refusal;
}

Verdict RefusalReasons::by_group(std::size_t owner, std::uint32_t node) const {
  auto found = dissolved_[owner].find(node);
  if (found == dissolved_[owner].end())
    return refuse("group", "the other nodes of its group cannot be delegated").refusal;
  const DissolvedGroup& group = *found->second;
  if (group.path.empty()) {
    return refuse("group",
                  fmt::format("%{} is delegated to another backend", nodes_[group.enclosed]->display_name()))
        .refusal;
  }
  std::vector<const Node*> path;
  for (std::uint32_t number : group.path) path.push_back(nodes_[number]);
  return refuse("group", path_text(path), "no path leaves the group and returns").refusal;
}

}  // namespace depute
