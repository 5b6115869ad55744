#include "lower/unit_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "lower/lowering_error.h"
#include "support/try.h"

namespace depute {

UnitOrder::UnitOrder(Name method, const Graph& graph, std::span<const std::uint32_t> group_of,
                     std::span<const Name> group_names, const EffectOrder& effects)
    : method_(method), group_of_(group_of), group_names_(group_names), effects_(effects), place_(graph) {
  nodes_.reserve(graph.node_count());
  group_begin_.assign(group_names.size() + 2, 0);
  for (const Node& node : graph.nodes()) {
    nodes_.push_back(&node);
    if (group_of_[node.id()] != no_group) ++group_begin_[group_of_[node.id()] + 2];
  }
  for (std::size_t i = 2; i < group_begin_.size(); ++i) group_begin_[i] += group_begin_[i - 1];
  group_members_.resize(group_begin_.back());
  for (const Node* node : nodes_) {
    std::uint32_t group = group_of_[node->id()];
    if (group != no_group)
      group_members_[group_begin_[group + 1]++] = node;  // counting sort: begin[g + 1] ends at g's end
  }
  state_.assign(nodes_.size() + group_names.size(), State::New);
}

std::uint32_t UnitOrder::unit_of(const Node& node) const {
  std::uint32_t group = group_of_[node.id()];
  return group == no_group ? place_[node] : static_cast<std::uint32_t>(nodes_.size()) + group;
}

std::span<const Node* const> UnitOrder::members(std::uint32_t unit) const {
  if (unit < nodes_.size()) return {&nodes_[unit], 1};
  std::size_t group = unit - nodes_.size();
  return std::span(group_members_)
      .subspan(group_begin_[group], group_begin_[group + 1] - group_begin_[group]);
}

// The i-th node that must come before `node`: first producers of operands (null for graph inputs), then
// earlier effects.
const Node* UnitOrder::requirement(const Node& node, std::size_t i) const {
  if (i < node.operand_count()) return node.operand(i)->producer();
  return effects_.before(node)[i - node.operand_count()];
}

// Returns the next producer outside the unit that is not in the order yet, or null.
const Node* UnitOrder::next_open_producer(Frame& frame) const {
  std::span<const Node* const> nodes = members(frame.unit);
  for (; frame.member < nodes.size(); ++frame.member, frame.operand = 0) {
    const Node& node = *nodes[frame.member];
    std::size_t count = node.operand_count() + effects_.before(node).size();
    while (frame.operand < count) {
      const Node* producer = requirement(node, frame.operand++);
      if (producer == nullptr || unit_of(*producer) == frame.unit) continue;
      if (state_[unit_of(*producer)] != State::Done) return producer;
    }
  }
  return nullptr;
}

// True if the frame's unit waits for an earlier effect, not for a value.
bool UnitOrder::waits_for_effect(const Frame& frame) const {
  return frame.operand > members(frame.unit)[frame.member]->operand_count();
}

Failure UnitOrder::cycle(std::uint32_t unit) const {
  auto name = [&](std::uint32_t number) {
    return number < nodes_.size() ? fmt::format("%{}", nodes_[number]->display_name())
                                  : fmt::format("partition {}", group_names_[number - nodes_.size()].str());
  };
  // The stack goes from users to producers; the path is printed in the direction of the values.
  std::string path = name(unit);
  LoweringPlace place{.method = method_.str()};
  bool through_effects = false;
  for (auto frame = stack_.rbegin();; ++frame) {
    path += " -> " + name(frame->unit);
    through_effects = through_effects || waits_for_effect(*frame);
    if (frame->unit < nodes_.size()) place.node = nodes_[frame->unit];
    if (frame->unit >= nodes_.size()) place.tag = group_names_[frame->unit - nodes_.size()].str();
    if (frame->unit == unit) break;
  }
  return lowering_error(
      LoweringFault::DependencyCycle, place, "invalid partition, found dependency cycles: " + path,
      through_effects ? "nodes with effects must keep their order: random and unknown ops, assertions, calls "
                        "of a delegate with state"
                      : "a partition must not need a value that depends on its own results");
}

Status UnitOrder::visit(std::uint32_t unit, std::vector<Unit>& order) {
  stack_.push_back({unit});
  state_[unit] = State::Open;
  while (!stack_.empty()) {
    const Node* producer = next_open_producer(stack_.back());
    if (producer != nullptr) {
      std::uint32_t needed = unit_of(*producer);
      if (state_[needed] == State::Open) return cycle(needed);
      state_[needed] = State::Open;
      stack_.push_back({needed});
      continue;
    }
    std::uint32_t done = stack_.back().unit;
    stack_.pop_back();
    state_[done] = State::Done;
    bool is_node = done < nodes_.size();
    order.push_back(is_node ? Unit{.node = nodes_[done]}
                            : Unit{.group = static_cast<std::uint32_t>(done - nodes_.size())});
  }
  return {};
}

Result<std::vector<UnitOrder::Unit>> UnitOrder::run() {
  std::vector<Unit> order;
  for (const Node* node : nodes_) {
    if (state_[unit_of(*node)] == State::New) TRY_STATUS(visit(unit_of(*node), order));
  }
  return order;
}

}  // namespace depute
