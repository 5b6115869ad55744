#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "depute/backend/partitioners.h"
#include "depute/program/walk.h"
#include "partition/border.h"
#include "partition/check_groups.h"
#include "partition/graph_answers.h"
#include "partition/refusal_reasons.h"
#include "partition/tag_data.h"
#include "support/try.h"

namespace depute {
namespace {

// launch + bytes * per_kib / 1024, but at least 1: a delegate that gains nothing is not worth it.
std::uint64_t delegate_cost(const DelegateCost& cost, std::uint64_t bytes) {
  const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  const bool overflows = cost.per_kib != 0 && bytes > limit / cost.per_kib;
  const std::uint64_t transfer = overflows ? limit : bytes * cost.per_kib / 1024;
  return std::max<std::uint64_t>(saturating_sum(cost.launch, transfer), 1);
}

class MethodPlanner {
 public:
  MethodPlanner(const Program& program, const Method& method, std::span<const Proposal> proposals)
      : program_(program),
        method_(method),
        proposals_(proposals),
        data_(input_data(program, method)),
        effects_(program),
        groups_(proposals.size()) {}

  Result<PartitionResult> run() {
    TRY_STATUS(sort_groups());
    const auto plan = [&](const Graph& graph) {
      plan_graph(graph);
      return Status();
    };
    const auto enters = [&](const Node& node) { return !taken_with_bodies_.contains(&node); };
    TRY_STATUS(walk_graphs(method_, plan, enters));
    add_verdicts_in_taken_bodies();
    move_state();
    return std::move(result_);
  }

 private:
  using Groups = std::vector<const std::vector<const Node*>*>;

  Status sort_groups() {
    for (std::size_t owner = 0; owner < proposals_.size(); ++owner) {
      TRY_STATUS(check_groups(method_, proposals_[owner].options.groups));
      for (const auto& group : proposals_[owner].options.groups) {
        if (group.empty()) continue;
        groups_[owner][&group.front()->graph()].push_back(&group);
      }
    }
    return {};
  }

  void plan_graph(const Graph& graph) {
    visited_.insert(&graph);
    answers_.clear();
    for (const Proposal& proposal : proposals_) answers_.push_back(ask(proposal, graph));
    NumberedGraph numbered = number_graph(graph, EffectOrder(effects_, graph));
    nodes_ = std::move(numbered.nodes);
    order_ = std::move(numbered.order);
    meters_.clear();
    for (const Proposal& proposal : proposals_)
      meters_.emplace_back(method_, data_, graph, nodes_, proposal.options.moved_data != MovedData::None);
    for (std::uint32_t owner = 0; owner < proposals_.size(); ++owner) refuse_wide_nodes(owner);

    std::vector<OwnerQuestion> questions;
    questions.reserve(proposals_.size());
    for (std::uint32_t owner = 0; owner < proposals_.size(); ++owner)
      questions.push_back(question(owner, graph));
    OwnersPlan plan = plan_owners(numbered.regions, questions);
    while (shrink_regions(plan, questions)) plan = plan_owners(numbered.regions, questions);
    record(graph, plan, questions);
  }

  // Refuses nodes that exceed `max_values` on their own: they fit into no delegate.
  void refuse_wide_nodes(std::uint32_t owner) {
    const std::size_t most = proposals_[owner].options.max_values;
    GraphAnswers& answers = answers_[owner];
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (answers.support[i] == Support::Unsupported ||
          nodes_[i]->operand_count() + nodes_[i]->results().size() <= most)
        continue;
      const std::size_t values = meters_[owner].measure({&i, 1}).values;
      if (values <= most) continue;
      answers.support[i] = Support::Unsupported;
      answers.refusal_of[i] = static_cast<std::uint32_t>(answers.refusals.size());
      answers.refusals.push_back(
          refuse("values", fmt::format("{} arguments and results", values), fmt::format("at most {}", most))
              .refusal);
    }
  }

  OwnerQuestion question(std::uint32_t owner, const Graph& graph) {
    const RegionOptions& options = proposals_[owner].options.regions;
    OwnerQuestion question{.support = answers_[owner].support, .groups = {}, .options = options};
    std::vector<std::uint32_t> members;
    for (const auto* group : groups_of(owner, graph)) {
      members.clear();
      for (const Node* node : *group) members.push_back((*order_)[*node]);
      std::ranges::sort(members);
      question.groups.add_row(members);
    }
    if (answers_[owner].judges_worth)
      question.options.worth = [this, owner](std::span<const std::uint32_t> nodes) {
        return worth(owner, nodes);
      };
    return question;
  }

  const Groups& groups_of(std::uint32_t owner, const Graph& graph) const {
    static const Groups none;
    auto found = groups_[owner].find(&graph);
    return found == groups_[owner].end() ? none : found->second;
  }

  Worth worth(std::uint32_t owner, std::span<const std::uint32_t> nodes) {
    const DelegateCost& cost = proposals_[owner].options.cost;
    Worth worth;
    for (std::uint32_t node : nodes) worth.gain = saturating_sum(worth.gain, answers_[owner].gain[node]);
    worth.cost = delegate_cost(cost, cost.per_kib > 0 ? meters_[owner].measure(nodes).bytes : 0);
    return worth;
  }

  // Halves the size limit of owners that have a region with too many values. False if there is none.
  bool shrink_regions(const OwnersPlan& plan, std::vector<OwnerQuestion>& questions) {
    bool any = false;
    for (std::uint32_t owner = 0; owner < proposals_.size(); ++owner) {
      const ProposeOptions& options = proposals_[owner].options;
      if (options.max_values == std::numeric_limits<std::size_t>::max()) continue;
      std::size_t largest = 0;
      for (std::uint32_t region = 0; region < plan.regions.size(); ++region) {
        if (plan.owner_of[region] != owner) continue;
        if (meters_[owner].measure(plan.regions[region]).values > options.max_values)
          largest = std::max(largest, plan.regions[region].size());
      }
      std::uint32_t& max_nodes = questions[owner].options.max_nodes;
      if (largest <= 1 || max_nodes <= 1) continue;
      max_nodes = static_cast<std::uint32_t>(std::min<std::size_t>(max_nodes, largest)) / 2;
      any = true;
    }
    return any;
  }

  void record(const Graph& graph, const OwnersPlan& plan, const std::vector<OwnerQuestion>& questions) {
    std::vector<Name> tags;
    tags.reserve(plan.owner_of.size());
    for (std::uint32_t owner : plan.owner_of) {
      tags.push_back(new_tag(owner));
      result_.plans.emplace(tags.back(), planned_by(owner, questions[owner].options));
    }
    add_verdicts(graph, plan, tags);
    if (&graph != method_.graph.get()) return;
    const auto tag_of = [&](const Node& node) {
      const std::uint32_t region = plan.region_of[(*order_)[node]];
      return region == no_region || !moves(plan.owner_of[region], MovedData::Constants) ? Name()
                                                                                        : tags[region];
    };
    tag_constants(method_, data_, tag_of, result_);
  }

  PartitionPlan planned_by(std::uint32_t owner, const RegionOptions& asked) const {
    const ProposeOptions& options = proposals_[owner].options;
    return {.mode = asked.mode,
            .merge_unconnected = asked.merge_unconnected,
            .max_nodes = asked.max_nodes,
            .is_cut_by_values = asked.max_nodes < options.regions.max_nodes,
            .is_isolated = !options.isolated_sets.empty()};
  }

  void add_verdicts(const Graph& graph, const OwnersPlan& plan, const std::vector<Name>& tags) {
    std::vector<RefusalReasons::Owner> owners;
    owners.reserve(proposals_.size());
    for (std::uint32_t owner = 0; owner < proposals_.size(); ++owner)
      owners.push_back(
          {proposals_[owner].options, answers_[owner], plan.owners[owner], groups_of(owner, graph)});
    const RefusalReasons reasons(nodes_, *order_, std::move(owners));
    if (result_.verdicts.empty()) {
      result_.verdicts.reserve(nodes_.size());
      result_.node_tags.reserve(plan.regions.items.size());
    }
    const bool may_have_bodies = !method_.bodies.empty();
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      const Node* node = nodes_[i];
      const std::uint32_t region = plan.region_of[i];
      if (region == no_region) {
        result_.verdicts.emplace_back(node, reasons.of(i));
        continue;
      }
      const std::uint32_t owner = plan.owner_of[region];
      result_.node_tags.emplace_back(node, tags[region]);
      add_delegated(*node, owner);
      if (may_have_bodies && has_bodies(*node)) taken_with_bodies_.emplace(node, owner);
    }
  }

  void add_delegated(const Node& node, std::uint32_t owner) {
    Verdict& verdict = result_.verdicts.emplace_back(&node, Verdict()).second;
    verdict.delegated = true;
    verdict.owner = proposals_[owner].options.owner;
  }

  bool moves(std::uint32_t owner, MovedData data) const {
    return proposals_[owner].options.moved_data >= data;
  }

  Name new_tag(std::uint32_t owner) {
    const ProposeOptions& options = proposals_[owner].options;
    std::uint32_t& next = next_tag_[options.owner];
    for (;;) {
      const Name tag = Name::scoped(fmt::format("{}{}", options.owner, next++));
      if (!result_.partition_tags.try_emplace(tag, options.spec).second) continue;
      owner_of_tag_.emplace(tag, owner);
      return tag;
    }
  }

  void add_verdicts_in_taken_bodies() {
    if (taken_with_bodies_.empty()) return;
    for (const auto& [node, tag] : result_.node_tags) {
      auto taken = taken_with_bodies_.find(node);
      if (taken == taken_with_bodies_.end()) continue;
      for (const Graph* body : graphs_below(*node)) {
        if (!visited_.insert(body).second) continue;
        for (const Node& inner : body->nodes()) add_delegated(inner, taken->second);
      }
    }
  }

  // Tags mutated buffers for the owners that take state as well as constants.
  void move_state() {
    const auto wants_state = [&](std::uint32_t owner) { return moves(owner, MovedData::ConstantsAndState); };
    bool any = false;
    for (std::uint32_t owner = 0; owner < proposals_.size(); ++owner) any |= wants_state(owner);
    if (!any) return;
    tag_mutated_buffer(program_, method_, result_);
    std::erase_if(result_.constant_tags, [&](const auto& entry) {
      const bool is_state = data_[entry.first->index()] == InputData::Mutated;
      return is_state && !wants_state(owner_of_tag_.at(entry.second));
    });
    for (const auto& [node, tag] : result_.node_tags) {
      if (&node->graph() != method_.graph.get()) break;
      if (!moves(owner_of_tag_.at(tag), MovedData::Everything)) continue;
      move_unused_data(tag);
      break;
    }
  }

  void move_unused_data(Name tag) {
    for (std::size_t i = 0; i < data_.size(); ++i) {
      const Value* input = method_.graph->inputs()[i];
      if (data_[i] == InputData::Constant && !input->has_uses())
        result_.constant_tags.emplace_back(input, tag);
    }
  }

  const Program& program_;
  const Method& method_;
  std::span<const Proposal> proposals_;
  const std::vector<InputData> data_;
  const Effects effects_;
  std::vector<std::unordered_map<const Graph*, Groups>> groups_;  // by owner
  std::unordered_map<std::string, std::uint32_t> next_tag_;       // by the owner's name
  std::unordered_map<Name, std::uint32_t> owner_of_tag_;
  std::unordered_map<const Node*, std::uint32_t> taken_with_bodies_;  // node -> owner
  std::unordered_set<const Graph*> visited_;
  PartitionResult result_;

  // State of the current graph: its nodes by number, and answers and a meter for each owner.
  std::vector<const Node*> nodes_;
  std::optional<NodeOrder> order_;
  std::vector<GraphAnswers> answers_;
  std::vector<BorderMeter> meters_;
};

}  // namespace

namespace {

// Supports only the nodes of the owner's isolated sets. The owner's other proposal covers all other nodes.
NodeSupport support_of_set(const Proposal& proposal, const std::unordered_set<const Node*>& members,
                           const Node& node) {
  NodeSupport answer = proposal.support(node);
  if (answer.support == Support::Unsupported || members.contains(&node)) return answer;
  return refuse("no-compute", nothing_computed);
}

// The sets of a proposal of which all nodes are taken, as an owner before it that alone has `apart`.
std::optional<Proposal> apart_from(const Proposal& proposal) {
  auto members = std::make_shared<std::unordered_set<const Node*>>();
  Proposal sets{.support = {}, .options = proposal.options};
  sets.options.groups.clear();
  sets.options.regions.mode = RegionMode::Apart;
  for (const auto& set : proposal.options.isolated_sets) {
    const bool is_taken = std::ranges::none_of(set, [&](const Node* node) {
      return members->contains(node) || proposal.support(*node).support == Support::Unsupported;
    });
    if (!is_taken) continue;
    members->insert(set.begin(), set.end());
    sets.options.groups.push_back(set);
  }
  if (members->empty()) return std::nullopt;
  sets.support = [&proposal, members](const Node& node) { return support_of_set(proposal, *members, node); };
  return sets;
}

}  // namespace

Result<PartitionResult> plan_jointly(const Program& program, const Method& method,
                                     std::span<const Proposal> proposals) {
  if (proposals.empty()) return failure("partition", method.name.str(), "no proposal to plan");
  for (const Proposal& proposal : proposals) {
    if (!proposal.support)
      return failure("partition", proposal.options.owner, "the proposal has no support function");
  }
  const auto has_sets = [](const Proposal& proposal) { return !proposal.options.isolated_sets.empty(); };
  if (std::ranges::none_of(proposals, has_sets)) return MethodPlanner(program, method, proposals).run();
  std::vector<Proposal> parted;
  for (const Proposal& proposal : proposals) {
    TRY_STATUS(check_groups(method, proposal.options.isolated_sets));
    if (auto sets = apart_from(proposal)) parted.push_back(std::move(*sets));
    parted.push_back(proposal);
    parted.back().options.isolated_sets.clear();
  }
  return MethodPlanner(program, method, parted).run();
}

OpsToNotDecompose SeveralPartitioners::ops_to_not_decompose(const Program& program) const {
  std::vector<OpsToNotDecompose> lists;
  OpsToNotDecompose all;
  for (const auto& partitioner : partitioners_) {
    if (partitioner == nullptr) continue;  // partition() reports the error
    lists.push_back(partitioner->ops_to_not_decompose(program));
    all.ops.insert(all.ops.end(), lists.back().ops.begin(), lists.back().ops.end());
  }
  all.filter = [lists](const Node& node) {
    return std::ranges::any_of(lists, [&](const OpsToNotDecompose& list) {
      return std::ranges::find(list.ops, node.op()) != list.ops.end() && (!list.filter || list.filter(node));
    });
  };
  return all;
}

Result<PartitionResult> SeveralPartitioners::partition(const Program& program, const Method& method) const {
  std::vector<Proposal> proposals;
  for (std::size_t i = 0; i < partitioners_.size(); ++i) {
    if (partitioners_[i] == nullptr) {
      return failure("partition", method.name.str(),
                     fmt::format("partitioner {} of {} is null", i + 1, partitioners_.size()));
    }
    TRY(std::optional<Proposal> proposal, partitioners_[i]->proposal(program, method));
    if (!proposal) {
      return failure("partition", method.name.str(),
                     fmt::format("partitioner {} of {} forms its own partitions, so it cannot be planned "
                                 "together with others",
                                 i + 1, partitioners_.size()),
                     "omit joint planning, so that partitioners run in sequence");
    }
    proposals.push_back(std::move(*proposal));
  }
  return plan_jointly(program, method, proposals);
}

}  // namespace depute
