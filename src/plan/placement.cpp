#include "plan/placement.h"

#include <algorithm>

#include "ops/op_def.h"
#include "plan/memory_plan.h"
#include "plan/tensor_bounds.h"
#include "plan/views.h"

namespace depute {
namespace {

// Backends' runtimes may load wider than an element: what they get starts at a multiple of this.
constexpr std::uint64_t delegate_alignment = 16;
// XNNPACK reads a little past the end of its tensors.
constexpr std::uint64_t xnnpack_padding = 64;

const Symbol& delegate_call() {
  static const Symbol op("delegate.call");
  return op;
}

class Placer {
 public:
  Placer(const Program& program, const Method& method, const PlanOptions& options)
      : program_(program),
        method_(method),
        options_(options),
        result_{ValueNumbers(*method.graph), {}, {}, 0} {
    result_.values.resize(result_.numbers.count());
    result_.actions.resize(method.graph->node_count(), NodeAction::Call);
  }

  Result<Placement> run() {
    TRY_STATUS(bound_tensors());
    find_aligned_values();
    place_inputs();
    for (const Node& node : method_.graph->nodes()) place_results(node);
    find_lifetimes();
    make_blocks();
    return std::move(result_);
  }

 private:
  PlacedValue& placed(const Value& value) { return result_.values[result_.numbers[value]]; }

  Status bound_tensors() {
    auto bound = [&](const Value& value) -> Status {
      if (!value.type().is_tensor()) return {};
      TRY(BoundedTensor tensor, bounded_tensor(value, program_.ranges, method_.name));
      placed(value).tensor = std::move(tensor.tensor);
      placed(value).bytes = tensor.bytes;
      return {};
    };
    for (const Value* input : method_.graph->inputs()) {
      if (input->has_uses() || !input_spec(method_, *input)->has_data()) TRY_STATUS(bound(*input));
    }
    for (const Node& node : method_.graph->nodes()) {
      for (const Value* result : node.results()) TRY_STATUS(bound(*result));
    }
    return {};
  }

  // Values that a delegate reads, directly or as a view: marked from the last node to the first.
  void find_aligned_values() {
    must_align_.assign(result_.values.size(), false);
    views_.resize(result_.actions.size());
    for (const Node* node = method_.graph->last(); node != nullptr; node = node->previous()) {
      views_[node->scratch] = find_view(*node);
      if (node->op() == delegate_call()) {
        const Delegate* delegate = program_.find_delegate(node->arg(0).as_symbol());
        has_xnnpack_ |= delegate != nullptr && delegate->backend_id == "XnnpackBackend";
        for (std::size_t i = 0; i < node->operand_count(); ++i) {
          must_align_[result_.numbers[*node->operand(i)]] = true;
        }
      } else if (const auto& view = views_[node->scratch]) {
        bool any = std::ranges::any_of(
            node->results(), [&](const Value* value) { return must_align_[result_.numbers[*value]]; });
        if (any) must_align_[result_.numbers[*view->base]] = true;
      }
    }
    is_output_.assign(result_.values.size(), false);
    for (const Argument& output : method_.graph->outputs()) {
      if (output.is_value()) is_output_[result_.numbers[*output.as_value()]] = true;
    }
  }

  void place_own(const Value& value, PlaceKind kind) {
    PlacedValue& place = placed(value);
    place.kind = kind;
    place.base = result_.numbers[value];
  }

  void place_inputs() {
    for (const Value* input : method_.graph->inputs()) {
      if (!input->type().is_tensor()) continue;
      bool is_constant = input_spec(method_, *input)->has_data();
      PlaceKind kind = options_.alloc_inputs ? PlaceKind::Planned : PlaceKind::Caller;
      place_own(*input, is_constant ? PlaceKind::Constant : kind);
    }
  }

  void place_results(const Node& node) {
    const auto& view = views_[node.scratch];
    if (view) {
      NodeAction action = view_action(node, *view);
      result_.actions[node.scratch] = action;
      if (action != NodeAction::Call) return place_view(node, *view);
    }
    for (const Value* value : node.results()) {
      if (!value->type().is_tensor()) continue;
      bool is_callers = !options_.alloc_outputs && is_output_[result_.numbers[*value]];
      place_own(*value, is_callers ? PlaceKind::Caller : PlaceKind::Planned);
    }
  }

  // How the results of a view node come to be where their base is.
  NodeAction view_action(const Node& node, const View& view) {
    const PlacedValue& base = placed(*view.base);
    bool is_dynamic = base.tensor.dynamism != ShapeDynamism::Static;
    for (std::size_t i = 0; i < node.results().size(); ++i) {
      const PlacedValue& result = placed(*node.result(i));
      std::uint32_t number = result_.numbers[*node.result(i)];
      if (!options_.alloc_outputs && is_output_[number]) return NodeAction::Call;
      if (result.tensor.dynamism != ShapeDynamism::Static) is_dynamic = true;
      if (view.is_whole) continue;
      if (base.kind != PlaceKind::Planned || view.offsets[i] + result.bytes > base.bytes) {
        return NodeAction::Call;
      }
      bool is_aligned = (base.offset + view.offsets[i]) % delegate_alignment == 0;
      if (must_align_[number] && !is_aligned) return NodeAction::Call;
    }
    if (!view.is_whole) return NodeAction::Alias;
    if (base.kind == PlaceKind::Caller) return NodeAction::Resize;
    return is_dynamic ? NodeAction::Resize : NodeAction::Alias;
  }

  void place_view(const Node& node, const View& view) {
    const PlacedValue& base = placed(*view.base);
    for (std::size_t i = 0; i < node.results().size(); ++i) {
      PlacedValue& result = placed(*node.result(i));
      result.kind = base.kind;
      result.base = base.base;
      result.offset = base.offset + view.offsets[i];
    }
  }

  // Time is the node's number + 1; the caller's inputs are there at 0, outputs are read after the last node.
  void find_lifetimes() {
    last_use_.assign(result_.values.size(), 0);
    for (const Node& node : method_.graph->nodes()) {
      for (const Value* value : node.results()) touch(*value, node.scratch + 1);
      for (std::size_t i = 0; i < node.operand_count(); ++i) touch(*node.operand(i), node.scratch + 1);
    }
    for (const Argument& output : method_.graph->outputs()) {
      if (output.is_value()) touch(*output.as_value(), end_time());
    }
  }
  void touch(const Value& value, std::uint32_t time) { last_use_[placed(value).base] = time; }
  std::uint32_t end_time() const { return static_cast<std::uint32_t>(result_.actions.size()) + 1; }

  // Groups planned values into blocks, packs them, and gives every value its offset.
  void make_blocks() {
    block_of_.assign(result_.values.size(), no_block);
    shift_.assign(result_.values.size(), 0);
    for (const Value* input : method_.graph->inputs()) add_block(*input, 0);
    for (const Node& node : method_.graph->nodes()) {
      if (result_.actions[node.scratch] != NodeAction::Call) continue;
      if (write_over_operand(node)) continue;
      for (const Value* value : node.results()) add_block(*value, node.scratch + 1);
    }
    MemoryPlan memory = plan_memory(blocks_);
    bool is_planned = std::ranges::any_of(
        result_.values, [](const PlacedValue& value) { return value.kind == PlaceKind::Planned; });
    if (!is_planned) return;
    // Tensors without elements also lie in an arena that exists.
    result_.arena_bytes = std::max(memory.bytes, block_alignment) + (has_xnnpack_ ? xnnpack_padding : 0);
    for (PlacedValue& value : result_.values) {
      if (value.kind != PlaceKind::Planned) continue;
      value.tensor.memory_id = 1;
      value.tensor.memory_offset = memory.offsets[block_of_[value.base]] + shift_[value.base] + value.offset;
    }
  }

  void add_block(const Value& value, std::uint32_t time) {
    const PlacedValue& place = placed(value);
    std::uint32_t number = result_.numbers[value];
    if (place.kind != PlaceKind::Planned || place.base != number) return;
    block_of_[number] = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back({time, last_use_[number], place.bytes});
  }

  // A pointwise node's result takes the memory of an operand of the same type that is not needed afterwards.
  bool write_over_operand(const Node& node) {
    const OpDef* def = op_def(node);
    if (def == nullptr || !def->is(pointwise) || node.results().size() != 1) return false;
    const Value& result = *node.result();
    if (!result.type().is_tensor() || placed(result).kind != PlaceKind::Planned) return false;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value& operand = *node.operand(i);
      if (!operand.type().is_tensor() || operand.tensor() != result.tensor()) continue;
      if (!may_write_over(node, operand)) continue;
      const PlacedValue& over = placed(operand);
      std::uint32_t number = result_.numbers[result];
      if (must_align_[number] && (shift_[over.base] + over.offset) % delegate_alignment != 0) continue;
      block_of_[number] = block_of_[over.base];
      shift_[number] = shift_[over.base] + over.offset;
      MemoryBlock& block = blocks_[block_of_[number]];
      block.last = std::max(block.last, last_use_[number]);
      return true;
    }
    return false;
  }

  bool may_write_over(const Node& node, const Value& operand) {
    const PlacedValue& over = placed(operand);
    if (over.kind != PlaceKind::Planned || blocks_[block_of_[over.base]].last != node.scratch + 1)
      return false;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value& other = *node.operand(i);
      const PlacedValue& place = placed(other);
      if (place.kind != PlaceKind::Planned || block_of_[place.base] != block_of_[over.base]) continue;
      bool is_same_place = shift_[place.base] + place.offset == shift_[over.base] + over.offset;
      if (!is_same_place || other.tensor() != operand.tensor()) return false;
    }
    return true;
  }

  static constexpr std::uint32_t no_block = 0xffffffff;
  const Program& program_;
  const Method& method_;
  const PlanOptions& options_;
  Placement result_;
  bool has_xnnpack_ = false;
  std::vector<std::optional<View>> views_;  // by node
  std::vector<bool> must_align_;            // by value, as all below
  std::vector<bool> is_output_;
  std::vector<std::uint32_t> last_use_;  // of a base and the views of it
  std::vector<std::uint32_t> block_of_;  // of a base
  std::vector<std::uint64_t> shift_;     // of a base, from the start of its block
  std::vector<MemoryBlock> blocks_;
};

}  // namespace

ValueNumbers::ValueNumbers(const Graph& graph) : first_result_(graph.number_nodes()) {
  count_ = static_cast<std::uint32_t>(graph.inputs().size());
  for (const Node& node : graph.nodes()) {
    first_result_[node.scratch] = count_;
    count_ += static_cast<std::uint32_t>(node.results().size());
  }
}

Result<Placement> place_values(const Program& program, const Method& method, const PlanOptions& options) {
  return Placer(program, method, options).run();
}

}  // namespace depute
