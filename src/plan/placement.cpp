#include "plan/placement.h"

#include <algorithm>

#include "ops/op_def.h"
#include "plan/control_ops.h"
#include "plan/loops.h"
#include "plan/memory_plan.h"
#include "plan/tensor_bounds.h"
#include "plan/value_uses.h"
#include "plan/variables.h"

namespace depute {
namespace {

// Backends' runtimes may load wider than an element: what they get starts at a multiple of this.
constexpr std::uint64_t delegate_alignment = 16;
// XNNPACK reads a little past the end of its tensors.
constexpr std::uint64_t xnnpack_padding = 64;

// Which cuts become parts of their base's memory. A cut keeps all of its base alive, which may take more
// memory than a copy.
enum class Cuts {
  All,
  Frugal,  // the base lives as long anyway, or is used up by its cuts
  None,
};

class Placer {
 public:
  Placer(const Program& program, const Method& method, const ValueNumbers& numbers,
         const PlanOptions& options, Cuts cuts)
      : program_(program),
        method_(method),
        options_(options),
        cuts_(cuts),
        loops_(*method.graph),
        result_{numbers, {}, {}, 0} {
    result_.values.resize(result_.numbers.count());
    result_.actions.resize(method.graph->node_count(), NodeAction::Call);
  }

  Result<Placement> run() {
    TRY(std::vector<std::uint64_t> bytes, bound_tensors());
    uses_ = find_uses(program_, *method_.graph, result_.numbers, bytes);
    place_inputs();
    for (const Node& node : method_.graph->nodes()) place_results(node);
    find_lifetimes();
    make_blocks();
    return std::move(result_);
  }

  bool has_cuts() const { return has_cuts_; }

 private:
  PlacedValue& placed(const Value& value) { return result_.values[result_.numbers[value]]; }

  Result<std::vector<std::uint64_t>> bound_tensors() {
    std::vector<std::uint64_t> bytes(result_.values.size());
    auto bound = [&](const Value& value) -> Status {
      if (!value.type().is_tensor()) return {};
      TRY(BoundedTensor tensor, bounded_tensor(value, program_.ranges, method_.name));
      placed(value).tensor = std::move(tensor.tensor);
      placed(value).bytes = tensor.bytes;
      bytes[result_.numbers[value]] = tensor.bytes;
      return {};
    };
    for (const Value* input : method_.graph->inputs()) {
      if (input->has_uses() || !input_spec(method_, *input)->has_data()) TRY_STATUS(bound(*input));
    }
    for (const Node& node : method_.graph->nodes()) {
      for (const Value* result : node.results()) TRY_STATUS(bound(*result));
    }
    return bytes;
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
    const auto& view = uses_.views[node.scratch];
    if (view) {
      NodeAction action = view_action(node, *view);
      result_.actions[node.scratch] = action;
      if (action != NodeAction::Call) return place_view(node, *view);
    }
    for (const Value* value : node.results()) {
      if (!value->type().is_tensor()) continue;
      bool is_callers = !options_.alloc_outputs && uses_.is_output[result_.numbers[*value]];
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
      if (!options_.alloc_outputs && uses_.is_output[number]) return NodeAction::Call;
      if (result.tensor.dynamism != ShapeDynamism::Static) is_dynamic = true;
      if (!view.is_whole && !may_cut(base, view.offsets[i], number)) return NodeAction::Call;
    }
    if (!view.is_whole) {
      has_cuts_ = true;
      return NodeAction::Alias;
    }
    if (base.kind == PlaceKind::Caller) return NodeAction::Resize;
    return is_dynamic ? NodeAction::Resize : NodeAction::Alias;
  }

  bool may_cut(const PlacedValue& base, std::uint64_t offset, std::uint32_t result) const {
    std::uint64_t bytes = result_.values[result].bytes;
    if (cuts_ == Cuts::None || base.kind != PlaceKind::Planned || offset + bytes > base.bytes) return false;
    bool is_aligned = (base.offset + offset) % delegate_alignment == 0;
    if (uses_.must_align[result] && !is_aligned) return false;
    bool lives_on = uses_.last_use[result] <= uses_.whole_end[base.base];
    bool is_used_up = uses_.cut_bytes[base.base] >= result_.values[base.base].bytes / 2;
    return cuts_ == Cuts::All || lives_on || is_used_up;
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

  // Of bases, with all views that became parts of them. The caller's inputs are there at time 0.
  void find_lifetimes() {
    first_use_.assign(result_.values.size(), 0);
    last_use_.assign(result_.values.size(), 0);
    for (const Node& node : method_.graph->nodes()) {
      for (const Value* value : node.results()) {
        std::uint32_t& first = first_use_[result_.numbers[*value]];
        if (first == 0) first = node.scratch + 1;
        touch(*value, node.scratch + 1);
      }
      for (std::size_t i = 0; i < node.operand_count(); ++i) touch(*node.operand(i), node.scratch + 1);
    }
    for (const Argument& output : method_.graph->outputs()) {
      if (output.is_value()) touch(*output.as_value(), end_time());
    }
  }
  void touch(const Value& value, std::uint32_t time) {
    if (placed(value).kind == PlaceKind::None) return;
    std::uint32_t& last = last_use_[placed(value).base];
    last = std::max(last, loops_.kept_until(first_use_[placed(value).base], time));
  }
  std::uint32_t end_time() const { return static_cast<std::uint32_t>(result_.actions.size()) + 1; }

  // Groups planned values into blocks, packs them, and gives every value its offset.
  void make_blocks() {
    block_of_.assign(result_.values.size(), no_block);
    for (const Value* input : method_.graph->inputs()) add_block(*input, 0);
    for (const Node& node : method_.graph->nodes()) {
      if (result_.actions[node.scratch] != NodeAction::Call) continue;
      if (write_over_operand(node)) continue;
      if (control_op(node) == ControlOp::Variable) continue;
      if (writes_variable(node)) add_block(*node.operand(0), node.scratch + 1);
      for (const Value* value : node.results()) add_block(*value, node.scratch + 1);
    }
    finish_variables();
    MemoryPlan memory = plan_memory(blocks_);
    bool is_planned = std::ranges::any_of(
        result_.values, [](const PlacedValue& value) { return value.kind == PlaceKind::Planned; });
    if (!is_planned) return;
    // Tensors without elements also lie in an arena that exists.
    result_.arena_bytes =
        std::max(memory.bytes, block_alignment) + (uses_.calls_xnnpack ? xnnpack_padding : 0);
    for (PlacedValue& value : result_.values) {
      if (value.kind != PlaceKind::Planned) continue;
      value.tensor.memory_id = 1;
      value.tensor.memory_offset = memory.offsets[block_of_[value.base]] + value.offset;
    }
  }

  // A variable takes memory only from its first write on; those that nothing is written to have no elements.
  // One that is filled item by item has as many as were put in: the runtime resizes it each time.
  void finish_variables() {
    for (const Node& node : method_.graph->nodes()) {
      ControlOp op = control_op(node);
      if (op == ControlOp::Variable) add_block(*node.result(), node.scratch + 1);
      if (op == ControlOp::SetItem) placed(*node.operand(0)).tensor.dynamism = ShapeDynamism::DynamicBound;
    }
  }

  void add_block(const Value& value, std::uint32_t time) {
    const PlacedValue& place = placed(value);
    std::uint32_t number = result_.numbers[value];
    if (place.kind != PlaceKind::Planned || place.base != number || block_of_[number] != no_block) return;
    block_of_[number] = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back({loops_.kept_since(first_use_[number], time), last_use_[number], place.bytes});
  }

  // A pointwise node's result takes the memory of an operand of the same type that is not needed afterwards.
  bool write_over_operand(const Node& node) {
    const OpDef* def = op_def(node);
    if (def == nullptr || !def->is(pointwise) || node.results().size() != 1) return false;
    const Value& result = *node.result();
    if (!result.type().is_tensor() || placed(result).kind != PlaceKind::Planned) return false;
    if (block_of_[result_.numbers[result]] != no_block) return false;  // a variable that was written before
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value& operand = *node.operand(i);
      if (!operand.type().is_tensor() || operand.tensor() != result.tensor()) continue;
      if (!may_write_over(node, operand)) continue;
      const PlacedValue& over = placed(operand);
      std::uint32_t number = result_.numbers[result];
      block_of_[number] = block_of_[over.base];
      MemoryBlock& block = blocks_[block_of_[number]];
      block.last = std::max(block.last, last_use_[number]);
      return true;
    }
    return false;
  }

  // Only over all of a block: writing over a cut would keep the rest of its block alive for nothing.
  bool may_write_over(const Node& node, const Value& operand) {
    const PlacedValue& over = placed(operand);
    if (over.kind != PlaceKind::Planned) return false;
    const MemoryBlock& block = blocks_[block_of_[over.base]];
    if (block.last != node.scratch + 1 || block.bytes != over.bytes) return false;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value& other = *node.operand(i);
      const PlacedValue& place = placed(other);
      bool shares_block = place.kind == PlaceKind::Planned && block_of_[place.base] == block_of_[over.base];
      if (shares_block && other.tensor() != operand.tensor()) return false;
    }
    return true;
  }

  static constexpr std::uint32_t no_block = 0xffffffff;
  const Program& program_;
  const Method& method_;
  const PlanOptions& options_;
  Cuts cuts_;
  bool has_cuts_ = false;
  Loops loops_;
  Placement result_;
  ValueUses uses_;
  std::vector<std::uint32_t> first_use_;  // when a base is there
  std::vector<std::uint32_t> last_use_;   // of a base and the views of it
  std::vector<std::uint32_t> block_of_;   // of a base
  std::vector<MemoryBlock> blocks_;
};

}  // namespace

// As few copies as possible, unless they would save memory.
Result<Placement> place_values(const Program& program, const Method& method, const PlanOptions& options) {
  ValueNumbers numbers = number_values(*method.graph);
  Placer with_cuts(program, method, numbers, options, Cuts::All);
  TRY(Placement best, with_cuts.run());
  if (!with_cuts.has_cuts()) return best;
  TRY(Placement none, Placer(program, method, numbers, options, Cuts::None).run());
  if (best.arena_bytes <= none.arena_bytes) return best;
  TRY(best, Placer(program, method, numbers, options, Cuts::Frugal).run());
  return best.arena_bytes <= none.arena_bytes ? std::move(best) : std::move(none);
}

}  // namespace depute
