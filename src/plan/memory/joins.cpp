#include "plan/memory/joins.h"

#include <algorithm>

#include "depute/program/op.h"
#include "ops/control/control_ops.h"

namespace depute {
namespace {

constexpr std::uint64_t join_alignment = 16;  // lets delegates read and write the parts

class Joiner {
 public:
  Joiner(const ValueNumbers& numbers, const ValueUses& uses, std::span<const Store> stores,
         const WriteOptions& options)
      : numbers_(numbers), uses_(uses), options_(options), is_stored_(numbers.count()) {
    for (const Store& store : stores) is_stored_[numbers_[*store.content]] = true;
  }

  Joins run(const Method& method) {
    joins_.of.resize(numbers_.count());
    joins_.is_joined.resize(method.graph->node_ids());
    // With jumps, a node may run before an earlier one of the list.
    for (const Node& node : method.graph->nodes()) {
      if (control_op(node) != ControlOp::None) return std::move(joins_);
    }
    for (const Node& node : method.graph->nodes()) {
      const OpDef* def = node.def();
      if (def != nullptr && def->is(OpFlag::Concat)) join(node);
    }
    return std::move(joins_);
  }

 private:
  void join(const Node& node) {
    const OpCall call(node);
    const Value& whole = *node.result();
    if (!is_outermost(call, whole.tensor()) || !may_lie_elsewhere(whole)) return;
    std::vector<std::pair<const Value*, std::uint64_t>> parts;
    std::uint64_t offset = 0;
    for (const Argument& operand : call[0].as_list()) {
      const Value& part = made_value(*operand.as_value());
      const TensorType& type = operand.as_value()->tensor();
      const auto count = type.static_numel();
      if (!count || type.dtype != whole.tensor().dtype || !may_be_part(part) || offset % join_alignment != 0)
        return;
      if (std::ranges::find(parts, &part, &std::pair<const Value*, std::uint64_t>::first) != parts.end())
        return;
      parts.emplace_back(&part, offset);
      offset += static_cast<std::uint64_t>(*count) * item_size(type.dtype);
    }
    for (const auto& [part, at] : parts) joins_.of[numbers_[*part]] = {&whole, at};
    joins_.is_joined[node.id()] = true;
    joins_.empty = false;
  }

  // True if every part of the result is one run of bytes.
  static bool is_outermost(const OpCall& call, const TensorType& whole) {
    if (!whole.is_static()) return false;
    std::int64_t dim = call.integer("dim");
    if (dim < 0) dim += static_cast<std::int64_t>(whole.rank());
    const auto outer = std::span(whole.sizes.data(), whole.sizes.size()).first(static_cast<std::size_t>(dim));
    return std::ranges::all_of(outer, [](const SymInt& size) { return size == 1; });
  }

  // Returns the value that an operand is a whole view of.
  const Value& made_value(const Value& value) const {
    const Value* made = &value;
    while (made->producer() != nullptr) {
      const auto& view = uses_.views[made->producer()->id()];
      if (!view || !view->is_whole) break;
      made = view->base;
    }
    return *made;
  }

  bool may_lie_elsewhere(const Value& value) const {
    const std::uint32_t number = numbers_[value];
    return !is_stored_[number] && joins_.of[number].whole == nullptr &&
           (options_.alloc_outputs || !uses_.is_output[number]);
  }

  // True if a node computes the value.
  bool may_be_part(const Value& value) const {
    const Node* producer = value.producer();
    if (producer == nullptr || uses_.views[producer->id()] || joins_.is_joined[producer->id()]) return false;
    return value.type().is_tensor() && value.tensor().is_static() && may_lie_elsewhere(value);
  }

  const ValueNumbers& numbers_;
  const ValueUses& uses_;
  const WriteOptions& options_;
  std::vector<bool> is_stored_;
  Joins joins_;
};

}  // namespace

Joins find_joins(const Method& method, const ValueNumbers& numbers, const ValueUses& uses,
                 std::span<const Store> stores, const WriteOptions& options) {
  return Joiner(numbers, uses, stores, options).run(method);
}

}  // namespace depute
