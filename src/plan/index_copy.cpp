// index_copy as a copy and a write in place, for which the runtime has a kernel; where the result lies in the
// memory of a buffer that it replaces, only the write is left:
//
//   %n = aten.index_copy.default(%cache, 1, %at, %k)
//       ->
//   aten::index_put_(cache, [none, at], k, false, cache)
//
// Unlike index_put's, its indices are never negative, in PyTorch as in this kernel.
#include "plan/method_planner.h"
#include "support/try.h"

namespace depute::internal {

// Where the node's result lies, with what `self` holds, which a kernel goes on to change in place.
std::int32_t MethodPlanner::copied_to_result(const Node& node, const Value& self, std::int32_t from) {
  const std::int32_t to = add_result(*node.result());
  const PlacedValue& place = placement_[*node.result()];
  const bool is_there = place.base == placement_[self].base && place.offset == placement_[self].offset;
  if (!is_there) call("aten::clone.out", {from, pool_.null(), to, to});
  return to;
}

Status MethodPlanner::plan_index_copy(const Node& node) {
  OpCall copy(node);
  const Value& self = *copy.value("self");
  TRY(std::int32_t from, index_of(self, &node));
  TRY(std::int32_t index, index_of(*copy.value("index"), &node));
  TRY(std::int32_t source, index_of(*copy.value("source"), &node));
  const std::int32_t to = copied_to_result(node, self, from);
  std::int64_t dim = copy.integer("dim");
  if (dim < 0) dim += static_cast<std::int64_t>(self.tensor().rank());
  std::vector<std::int64_t> indices(static_cast<std::size_t>(dim), -1);
  indices.push_back(index);
  call("aten::index_put_", {to, pool_.tensor_list(indices, true), source, pool_.boolean(false), to});
  return {};
}

}  // namespace depute::internal
