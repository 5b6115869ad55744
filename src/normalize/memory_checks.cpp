#include "normalize/memory_checks.h"

#include <algorithm>
#include <map>
#include <string>

#include "depute/infer.h"
#include "depute/op.h"
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
std::optional<std::int64_t> typical_value(const SymInt& value, const Ranges& ranges) {
  std::map<std::string, std::int64_t, std::less<>> symbols;
  if (!value.is_constant()) {
    for (const Name symbol : symbols_of(value.expr())) {
      const auto found = ranges.find(symbol.str());
      const Range range = found == ranges.end() ? Range{} : found->second;
      symbols.emplace(symbol.str(), std::min(std::max<std::int64_t>(range.min, 16), range.max));
    }
  }
  return evaluate(value, symbols);
}

// True if the elements do not fit into the memory they lie in without sharing it. torch copies a tensor with a stride
// of 0 densely.
bool shares_elements(const TensorType& type, const Ranges& ranges) {
  if (type.is_contiguous() || std::ranges::count(type.strides, SymInt{}) > 0) return false;
  const SymInt spare = reach_of(type.sizes, type.strides) + 1 - type.numel();
  return typical_value(spare, ranges).value_or(0) < 0;
}

Status check_strided(const OpCall& call, const Value& base, const Ranges& ranges) {
  const TensorType& self = call.tensor("self");
  if (base.type().is_tensor() && base.tensor().numel() == self.numel()) return {};
  if (!call["storage_offset"].is_none()) {
    return node_error(*call.node(), "counts from the start of memory of which its argument is a part",
                      "write it for the tensor that owns the memory");
  }
  const SymInt spare = self.numel() - 1 - reach_of(as_dims(call["size"]), as_dims(call["stride"]));
  if (bounds(spare, ranges).min >= 0) return {};
  return node_error(*call.node(), "may read memory behind its argument, which is a part of another tensor",
                    "write it for the tensor that owns the memory");
}

}  // namespace

Status check_memory(const Node& node, const Value& base, const Ranges& ranges) {
  const OpDef& def = *node.def();
  if (def.is(OpFlag::ReadsLayout)) return check_strided(OpCall(node), base, ranges);
  if (!def.is(OpFlag::CopiesLayout) || !shares_elements(OpCall(node).tensor("self"), ranges)) return {};
  return node_error(node, "writes to a tensor of which elements share memory",
                    "write .contiguous() in the model");
}

}  // namespace depute
