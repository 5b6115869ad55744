// A topological order of a graph in which the nodes of each group are adjacent: a group is one unit.
//
// Nodes keep their order. A group takes the position of its first node; later nodes that the group depends on
// are moved before it. Nodes with effects keep their order (ops/effects.h). Linear in nodes and edges. If a
// group must run both before and after a node, no such order exists: the error prints the path.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "depute/program/result.h"
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

  // `group_of` is indexed by node id; `method` and `group_names` are used in the error message.
  UnitOrder(Name method, const Graph& graph, std::span<const std::uint32_t> group_of,
            std::span<const Name> group_names, const EffectOrder& effects);
  Result<std::vector<Unit>> run();

 private:
  // A unit on the stack, and the next member and operand to look at.
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

  Name method_;
  std::span<const std::uint32_t> group_of_;
  std::span<const Name> group_names_;
  const EffectOrder& effects_;
  NodeOrder place_;                         // order of single nodes, which are units
  std::vector<const Node*> nodes_;          // by place
  std::vector<std::uint32_t> group_begin_;  // members of group g: group_members_[begin[g] .. begin[g + 1])
  std::vector<const Node*> group_members_;
  std::vector<State> state_;  // by unit: nodes, then groups
  std::vector<Frame> stack_;
};

}  // namespace depute
