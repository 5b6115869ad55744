#include "normalize/memory_checks.h"

#include <algorithm>
#include <map>
#include <string>

#include "depute/program/infer.h"
#include "depute/program/op.h"
#include "normalize/pass_error.h"

namespace depute {
namespace {

// The distance of the last element from the first one.
SymInt reach_of(const Dims& sizes, const Dims& strides) {
  SymInt reach = 0;
  for (std::size_t i = 0; i < sizes.size() && i < strides.size(); ++i)
    reach = reach + (sizes[i] - 1) * strides[i];
  return reach;
}

// The value where each symbol has the number of its range that is nearest to 16.
std::int64_t typical_value(const SymInt& value, const Ranges& ranges) {
  std::map<std::string, std::int64_t, std::less<>> symbols;
  if (!value.is_constant()) {
    for (const Name symbol : symbols_of(value.expr())) {
      const auto found = ranges.find(symbol.str());
      const Range range = found == ranges.end() ? Range{} : found->second;
      symbols.emplace(symbol.str(), std::min(std::max<std::int64_t>(range.min, 16), range.max));
    }
  }
  return evaluate(value, symbols).value_or(Range::max_bound);
}

// False only if no two elements share memory, for all sizes within their ranges: in some order of the dimensions each
// stride is larger than the distance from the first to the last element of the dimensions before it. Torch copies a
// tensor with a stride of 0 densely.
bool may_share_elements(const TensorType& type, const Ranges& ranges) {
  if (type.is_contiguous() || std::ranges::count(type.strides, SymInt{}) > 0) return false;
  std::vector<std::size_t> dims;
  for (std::size_t i = 0; i < type.rank(); ++i)
    if (type.sizes[i] != 1) dims.push_back(i);
  std::ranges::stable_sort(dims, {}, [&](std::size_t i) { return typical_value(type.strides[i], ranges); });
  SymInt reach = 0;
  for (const std::size_t i : dims) {
    const SymInt& stride = type.strides[i];
    if (bounds(stride - reach - 1, ranges).min < 0) return true;
    reach = reach + type.sizes[i] * stride - stride;
  }
  return false;
}

Status check_strided(const OpCall& call, const Value& base, const Ranges& ranges) {
  const TensorType& self = call.tensor("self");
  if (base.type().is_tensor() && base.tensor().numel() == self.numel()) return {};
  if (!call["storage_offset"].is_none()) {
    return node_error(*call.node(), "reads relative to the start of a memory that its argument shares",
                      "apply it to the tensor that owns the memory");
  }
  const SymInt spare = self.numel() - 1 - reach_of(as_dims(call["size"]), as_dims(call["stride"]));
  if (bounds(spare, ranges).min >= 0) return {};
  return node_error(*call.node(), "may read memory after its argument, which is a part of another tensor",
                    "apply it to the tensor that owns the memory");
}

}  // namespace

Status check_memory(const Node& node, const Value& base, const Ranges& ranges) {
  const OpDef& def = *node.def();
  if (def.is(OpFlag::ReadsLayout)) return check_strided(OpCall(node), base, ranges);
  if (!def.is(OpFlag::CopiesLayout) || !may_share_elements(OpCall(node).tensor("self"), ranges)) return {};
  return node_error(node, "writes to a tensor whose elements may overlap in memory",
                    "write .contiguous() in the model");
}

}  // namespace depute
