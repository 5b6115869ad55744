// A topological order of a graph whose nodes are partly grouped: every group is one unit, all its nodes at
// one place.
//
// Nodes keep their order; a group stands where its first node stood, and what the group needs from later in
// the list is pulled before it. Nodes with effects keep their order (ops/effects.h). Linear in nodes and
// edges. If a group must run both before and after a node, there is no such order: the error prints the path.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "depute/result.h"
#include "ir/node_order.h"
#include "ops/effects.h"

namespace depute {

class UnitOrder {
 public:
  static constexpr std::uint32_t no_group = 0xffffffff;

  struct Unit {
    const Node* node = nullptr;  // null for a group
    std::uint32_t group = no_group;
  };

  // `group_of` by node id; `method` and `group_names` for the error.
  UnitOrder(Symbol method, const Graph& graph, std::span<const std::uint32_t> group_of,
            std::span<const Symbol> group_names, const EffectOrder& effects);
  Result<std::vector<Unit>> run();

 private:
  // A unit on the stack and how far its operands have been looked at.
  struct Frame {
    std::uint32_t unit;
    std::size_t member = 0;
    std::size_t operand = 0;
  };
  enum class State : std::uint8_t { New, Open, Done };

  std::uint32_t unit_of(const Node& node) const;
  std::span<const Node* const> members(std::uint32_t unit) const;
  const Node* requirement(const Node& node, std::size_t i) const;
  const Node* next_open_producer(Frame& frame) const;
  Status visit(std::uint32_t unit, std::vector<Unit>& order);
  bool waits_for_effect(const Frame& frame) const;
  Failure cycle(std::uint32_t unit) const;

  Symbol method_;
  std::span<const std::uint32_t> group_of_;
  std::span<const Symbol> group_names_;
  const EffectOrder& effects_;
  NodeOrder place_;                         // of nodes that are units of their own
  std::vector<const Node*> nodes_;          // by place
  std::vector<std::uint32_t> group_begin_;  // members of group g: group_members_[begin[g] .. begin[g + 1])
  std::vector<const Node*> group_members_;
  std::vector<State> state_;  // by unit: nodes, then groups
  std::vector<Frame> stack_;
};

}  // namespace depute
