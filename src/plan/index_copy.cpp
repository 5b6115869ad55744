// Plans index_copy as a copy and an in-place write, for which the runtime has a kernel. If the result lies in
// the memory of the buffer that it replaces, only the write is needed:
//
//   %n = aten.index_copy.default(%cache, 1, %at, %k)
//       ->
//   aten::index_put_(cache, [none, at], k, false, cache)
//
// Unlike for index_put, indices are never negative, neither in PyTorch nor in this kernel.
#include "plan/method_planner.h"
#include "support/try.h"

namespace depute::internal {
namespace {

bool lie_in_one_place(const PlacedValue& a, const PlacedValue& b) {
  if (a.tensor.memory_id == 0) return a.base == b.base && a.offset == b.offset;
  return a.tensor.memory_id == b.tensor.memory_id && a.tensor.memory_offset == b.tensor.memory_offset;
}

}  // namespace

// Returns the place of the result, filled with `self`, for a kernel that then changes it in place.
std::int32_t MethodPlanner::copied_to_result(const Value& self, std::int32_t from, const Value& result) {
  const std::int32_t to = add_result(result);
  if (!lie_in_one_place(placement_[self], placement_[result]))
    call("aten::clone.out", {from, pool_.null(), to, to});
  return to;
}

Status MethodPlanner::plan_index_copy(const Node& node) {
  OpCall copy(node);
  const Value& self = *copy.value("self");
  TRY(std::int32_t from, index_of(self, &node));
  TRY(std::int32_t index, index_of(*copy.value("index"), &node));
  TRY(std::int32_t source, index_of(*copy.value("source"), &node));
  const std::int32_t to = copied_to_result(self, from, *node.result());
  std::int64_t dim = copy.integer("dim");
  if (dim < 0) dim += static_cast<std::int64_t>(self.tensor().rank());
  std::vector<std::int64_t> indices(static_cast<std::size_t>(dim), -1);
  indices.push_back(index);
  call("aten::index_put_", {to, pool_.tensor_list(indices, true), source, pool_.boolean(false), to});
  return {};
}

}  // namespace depute::internal
