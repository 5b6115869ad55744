#include "ir/debug_handles.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "depute/program/walk.h"

namespace depute {
namespace {

void move_handles(Node& node, std::uint32_t by) {
  node.debug_handle += node.debug_handle > 0 ? by : 0;
  if (node.replaced.empty()) return;
  std::vector<NodeOrigin> origins(node.replaced.begin(), node.replaced.end());
  for (NodeOrigin& origin : origins) origin.debug_handle += origin.debug_handle > 0 ? by : 0;
  node.replaced = node.graph().add_origins(origins);
}

}  // namespace

std::unordered_set<std::uint32_t> debug_handles(const Program& program) {
  std::unordered_set<std::uint32_t> handles;
  for_each_nested_node(program, [&](const Node& node) {
    for_each_origin(node, [&](const NodeOrigin& origin) { handles.insert(origin.debug_handle); });
  });
  handles.erase(0);  // of nodes without one
  return handles;
}

std::uint32_t last_debug_handle(const Program& program) {
  std::uint32_t last = 0;
  for_each_nested_node(program, [&](const Node& node) {
    for_each_origin(node, [&](const NodeOrigin& origin) { last = std::max(last, origin.debug_handle); });
  });
  return last;
}

std::uint32_t last_debug_handle(const Delegate& delegate) {
  std::uint32_t last = delegate.original == nullptr ? 0 : last_debug_handle(*delegate.original);
  for (const auto& [id, handles] : delegate.debug_handle_map) {
    for (std::uint32_t handle : handles) last = std::max(last, handle);
  }
  return last;
}

Result<std::uint32_t> next_debug_handle(std::uint32_t last, std::size_t count) {
  constexpr std::uint32_t end = std::numeric_limits<std::uint32_t>::max();
  if (count <= end - last) return last + 1;
  return failure("debug-handles", "",
                 fmt::format("{} more debug handles are needed after {}, but the last possible one is {}",
                             count, last, end),
                 "number the nodes from 1");
}

void move_debug_handles(Program& program, std::uint32_t by) {
  for (auto& method : program.methods) {
    for (Node& node : method->graph->nodes()) move_handles(node, by);
    for (auto& body : method->bodies) {
      for (Node& node : body->nodes()) move_handles(node, by);
    }
  }
  for (auto& delegate : program.delegates) move_debug_handles(*delegate, by);
}

void move_debug_handles(Delegate& delegate, std::uint32_t by) {
  for (auto& [id, handles] : delegate.debug_handle_map) {
    for (std::uint32_t& handle : handles) handle += by;
  }
  if (delegate.original == nullptr) return;
  Program original = clone(*delegate.original);
  move_debug_handles(original, by);
  delegate.original = std::make_shared<const Program>(std::move(original));
}

}  // namespace depute
