#include "plan/memory/placement.h"

#include <algorithm>
#include <unordered_set>

#include "depute/program/op.h"
#include "ops/contents.h"
#include "ops/control/control_ops.h"
#include "ops/own_ops.h"
#include "plan/flat/loops.h"
#include "plan/flat/variables.h"
#include "plan/memory/bank_blocks.h"
#include "plan/memory/joins.h"
#include "plan/memory/memory_plan.h"
#include "plan/memory/tensor_bounds.h"
#include "plan/memory/value_uses.h"
#include "support/try.h"

namespace depute {
namespace {

// Delegates may load more than one element at once, so their arguments start at a multiple of this (bytes).
constexpr std::uint64_t delegate_alignment = 16;

// Selects the slices that share the memory of their base. A slice keeps its whole base alive, which may take
// more memory than a copy.
enum class SlicePolicy {
  All,
  Frugal,  // only if the slice does not outlive its base, or the slices cover at least half of it
  None,
};

// Options for placing values in memory of other values: each saves copies but may take more memory.
struct SharingPolicy {
  SlicePolicy slices = SlicePolicy::All;
  bool join = true;    // joins.h
  bool donate = true;  // a changed copy reuses the memory of its source
};

class Placer {
 public:
  Placer(const Program& program, const Method& method, const NodeOrder& order, const ValueNumbers& numbers,
         const State& state, const DelegateIndex& delegates, const MemoryMap& memory,
         const WriteOptions& options, SharingPolicy policy)
      : program_(program),
        method_(method),
        state_(state),
        delegates_(delegates),
        memory_(memory),
        options_(options),
        slices_(policy.slices),
        join_(policy.join),
        donate_(policy.donate),
        order_(order),
        loops_(*method.graph, order),
        result_{.numbers = numbers} {
    result_.values.resize(result_.numbers.count());
    result_.actions.resize(method.graph->node_ids(), NodeAction::Call);
  }

  Result<Placement> run() {
    const std::vector<std::uint64_t> bytes = bound_tensors();
    TRY(result_.stores, stores_of(method_));
    uses_ = find_uses(delegates_, method_, order_, result_.numbers, bytes);
    joins_.of.resize(result_.values.size());
    joins_.is_joined.resize(method_.graph->node_ids());
    if (join_) joins_ = find_joins(method_, result_.numbers, uses_, result_.stores, options_);
    place_inputs();
    for (const Node& node : method_.graph->nodes()) place_results(node);
    find_lifetimes();
    const std::size_t refused = result_.refused.size();
    if (!memory_.empty()) pins_ = find_pins(program_, method_, memory_, result_);
    pin_conflicts_ = result_.refused.size() - refused;
    make_blocks();
    return std::move(result_);
  }

  bool has_slices() const { return has_slices_; }
  bool has_joins() const { return !joins_.empty; }
  bool has_donated() const { return has_donated_; }

 private:
  PlacedValue& placed(const Value& value) { return result_.values[result_.numbers[value]]; }

  std::vector<std::uint64_t> bound_tensors() {
    std::vector<std::uint64_t> bytes(result_.values.size());
    TensorBounds bounds(program_.ranges, method_.name);
    auto bound = [&](const Value& value) {
      if (!value.type().is_tensor()) return;
      BoundedTensor tensor = bounds.bound(value, result_.refused);
      placed(value).tensor = std::move(tensor.tensor);
      placed(value).bytes = tensor.bytes;
      bytes[result_.numbers[value]] = tensor.bytes;
    };
    for (const Value* input : method_.graph->inputs()) {
      bool is_needed = input->has_uses() || !input_spec(method_, *input)->has_data() || slot_of(*input);
      if (is_needed) bound(*input);
    }
    for (const Node& node : method_.graph->nodes()) {
      for (const Value* result : node.results()) bound(*result);
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
      if (slot_of(*input) == nullptr) continue;
      place_own(*input, options_.alloc_state ? PlaceKind::State : PlaceKind::Caller);
      placed(*input).tensor.name = input_spec(method_, *input)->target.str();
    }
    // The caller reads the changes of stored inputs in memory of its own.
    for (const Store& store : result_.stores) {
      if (placed(*store.target).kind == PlaceKind::Planned) place_own(*store.target, PlaceKind::Caller);
    }
  }

  const StateSlot* slot_of(const Value& input) const { return state_.slot_of(method_, input); }

  void place_results(const Node& node) {
    const auto& view = uses_.views[node.id()];
    if (view) {
      NodeAction action = view_action(node, *view);
      result_.actions[node.id()] = action;
      if (action != NodeAction::Call) return place_view(node, *view);
    }
    for (const Value* value : node.results()) {
      if (!value->type().is_tensor()) continue;
      bool is_callers = !options_.alloc_outputs && uses_.is_output[result_.numbers[*value]];
      place_own(*value, is_callers ? PlaceKind::Caller : PlaceKind::Planned);
      const Join& join = joins_.of[result_.numbers[*value]];
      if (join.whole == nullptr) continue;
      placed(*value).base = result_.numbers[*join.whole];
      placed(*value).offset = join.offset;
    }
    if (joins_.is_joined[node.id()]) result_.actions[node.id()] = NodeAction::Alias;
  }

  // Decides how the results of a view node are placed in their base.
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
      has_slices_ = true;
      return NodeAction::Alias;
    }
    if (base.kind == PlaceKind::Caller) return NodeAction::Resize;
    return is_dynamic ? NodeAction::Resize : NodeAction::Alias;
  }

  bool may_cut(const PlacedValue& base, std::uint64_t offset, std::uint32_t result) const {
    std::uint64_t bytes = result_.values[result].bytes;
    bool is_aligned = (base.offset + offset) % delegate_alignment == 0;
    if (offset + bytes > base.bytes || (uses_.must_align[result] && !is_aligned)) return false;
    if (base.kind == PlaceKind::State) return true;  // always present
    if (slices_ == SlicePolicy::None || base.kind != PlaceKind::Planned) return false;
    bool lives_on = uses_.last_use[result] <= uses_.whole_end[base.base];
    bool is_used_up = uses_.cut_bytes[base.base] >= result_.values[base.base].bytes / 2;
    return slices_ == SlicePolicy::All || lives_on || is_used_up;
  }

  void place_view(const Node& node, const View& view) {
    const PlacedValue& base = placed(*view.base);
    for (std::size_t i = 0; i < node.results().size(); ++i) {
      PlacedValue& result = placed(*node.result(i));
      result.kind = base.kind;
      result.base = base.base;
      result.offset = base.offset + view.offsets[i];
      // Two views of one memory may have different upper bounds; the larger one counts.
      std::uint64_t& bytes = result_.values[base.base].bytes;
      if (base.kind == PlaceKind::Planned) bytes = std::max(bytes, result.offset + result.bytes);
    }
  }

  // Finds the lifetimes of bases, including their views. Inputs of the caller exist at time 0.
  void find_lifetimes() {
    first_use_.assign(result_.values.size(), 0);
    last_use_.assign(result_.values.size(), 0);
    for (const Node& node : method_.graph->nodes()) {
      for (const Value* value : node.results()) {
        const Join& join = joins_.of[result_.numbers[*value]];
        std::uint32_t& first = first_use_[result_.numbers[join.whole == nullptr ? *value : *join.whole]];
        if (first == 0) first = time_of(node);
        touch(*value, time_of(node));
      }
      for (std::size_t i = 0; i < node.operand_count(); ++i) touch(*node.operand(i), time_of(node));
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
  std::uint32_t time_of(const Node& node) const { return order_[node] + 1; }
  std::uint32_t end_time() const { return time_of(*method_.graph->return_node()); }

  // Groups planned values into blocks, packs them, and gives every value its offset.
  void make_blocks() {
    result_.block_of.assign(result_.values.size(), no_block);
    for (const Value* input : method_.graph->inputs()) add_block(*input, 0);
    find_stored();
    for (const Node& node : method_.graph->nodes()) {
      if (result_.actions[node.id()] != NodeAction::Call) continue;
      if (control_op(node) == ControlOp::Variable) continue;
      if (writes_variable(node)) add_block(*node.operand(0), time_of(node));
      for (const Value* value : node.results()) {
        if (const Value* whole = joins_.of[result_.numbers[*value]].whole; whole != nullptr) {
          add_block(*whole, time_of(node));
          continue;
        }
        const bool is_placed =
            store_in_place(node, *value) || write_over_operand(node) || write_over_donated(node, *value);
        if (!is_placed) add_block(*value, time_of(node));
      }
    }
    finish_variables();
    place_state();
    copy_old_contents();
    result_.padding = uses_.arena_padding;
    PackedBlocks packed =
        memory_.empty() ? pack_into_one() : pack_into_banks(program_, method_, result_, memory_, state_);
    if (packed.misfit) result_.refused.push_back(std::move(*packed.misfit));
    result_.memory_sizes = std::move(packed.memory_sizes);
    result_.cost = packed.cost;
    result_.cost.conflicts = pin_conflicts_;
    result_.banks = std::move(packed.banks);
    set_places(result_, packed.places);
  }

  PackedBlocks pack_into_one() const {
    const MemoryPlan memory = plan_memory(result_.blocks);
    bool is_planned = std::ranges::any_of(
        result_.values, [](const PlacedValue& value) { return value.kind == PlaceKind::Planned; });
    PackedBlocks packed{.memory_sizes = {0}};
    for (const std::uint64_t offset : memory.offsets) packed.places.push_back({1, offset});
    // The arena must exist even if all its tensors are empty.
    if (is_planned || !result_.old_contents.empty())
      packed.cost.bytes = std::max(memory.bytes, block_alignment) + uses_.arena_padding;
    if (packed.cost.bytes > 0 || state_bytes_ > 0) packed.memory_sizes.push_back(packed.cost.bytes);
    if (state_bytes_ > 0) packed.memory_sizes.push_back(state_bytes_);
    return packed;
  }

  // Gives variables their memory. A variable takes memory from its first write on; one that is never written
  // has no elements. The runtime resizes a variable that is filled item by item at each item.
  void finish_variables() {
    for (const Node& node : method_.graph->nodes()) {
      ControlOp op = control_op(node);
      if (op == ControlOp::Variable) add_block(*node.result(), time_of(node));
      if (op == ControlOp::SetItem) placed(*node.operand(0)).tensor.dynamism = ShapeDynamism::DynamicBound;
    }
  }

  void add_block(const Value& value, std::uint32_t time) {
    const PlacedValue& place = placed(value);
    std::uint32_t number = result_.numbers[value];
    if (place.kind != PlaceKind::Planned || place.base != number || result_.block_of[number] != no_block)
      return;
    result_.block_of[number] = static_cast<std::uint32_t>(result_.blocks.size());
    result_.blocks.push_back({loops_.kept_since(first_use_[number], time), last_use_[number], place.bytes});
    result_.owners.push_back({&value, pin_of(number)});
  }

  // Lets the result of a pointwise node reuse the memory of an operand of the same type that is not needed
  // later.
  bool write_over_operand(const Node& node) {
    const OpDef* def = node.def();
    if (def == nullptr || !def->is(OpFlag::Pointwise) || node.results().size() != 1) return false;
    const Value& result = *node.result();
    if (!result.type().is_tensor() || placed(result).kind != PlaceKind::Planned) return false;
    if (result_.block_of[result_.numbers[result]] != no_block)
      return false;  // a variable that was written before
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value& operand = *node.operand(i);
      if (!operand.type().is_tensor() || operand.tensor() != result.tensor()) continue;
      if (!may_write_over(node, operand) || !may_share_bank(result, bank_of(operand))) continue;
      take_block(result, result_.block_of[placed(operand).base]);
      return true;
    }
    return false;
  }

  // Places a changed copy in the memory of its source if nothing else needs that source.
  bool write_over_donated(const Node& node, const Value& result) {
    const Value* donated = donate_ ? donated_operand(node, result.index()) : nullptr;
    const std::uint32_t number = result_.numbers[result];
    if (donated == nullptr || placed(result).kind != PlaceKind::Planned ||
        result_.block_of[number] != no_block)
      return false;
    if (donated->tensor() != result.tensor() || !may_write_over(node, *donated)) return false;
    if (!may_share_bank(result, bank_of(*donated))) return false;
    const std::uint32_t block = result_.block_of[placed(*donated).base];
    std::size_t readers = 0;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const PlacedValue& place = placed(*node.operand(i));
      if (place.kind == PlaceKind::Planned && result_.block_of[place.base] == block) ++readers;
    }
    if (readers > 1) return false;
    has_donated_ = true;
    take_block(result, block);
    return true;
  }

  void take_block(const Value& result, std::uint32_t number) {
    result_.block_of[result_.numbers[result]] = number;
    MemoryBlock& block = result_.blocks[number];
    block.last = std::max(block.last, last_use_[result_.numbers[result]]);
    block.bytes = std::max(block.bytes, placed(result).bytes);
    if (result_.owners[number].bank == any_bank)
      result_.owners[number].bank = pin_of(result_.numbers[result]);
  }

  std::uint32_t bank_of(const Value& operand) {
    return result_.owners[result_.block_of[placed(operand).base]].bank;
  }
  std::uint32_t pin_of(std::uint32_t base) const { return pins_.empty() ? any_bank : pins_[base]; }

  bool may_share_bank(const Value& result, std::uint32_t bank) const {
    const std::uint32_t pinned = pin_of(result_.numbers[result]);
    return pinned == any_bank || bank == any_bank || pinned == bank;
  }

  // Only whole blocks are overwritten: writing over a slice would keep the rest of its block alive for
  // nothing.
  bool may_write_over(const Node& node, const Value& operand) {
    const PlacedValue& over = placed(operand);
    if (over.kind != PlaceKind::Planned || result_.block_of[over.base] == no_block) return false;
    const MemoryBlock& block = result_.blocks[result_.block_of[over.base]];
    if (block.last != time_of(node) || block.bytes != over.bytes) return false;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value& other = *node.operand(i);
      const PlacedValue& place = placed(other);
      bool shares_block =
          place.kind == PlaceKind::Planned && result_.block_of[place.base] == result_.block_of[over.base];
      if (shares_block && other.tensor() != operand.tensor()) return false;
    }
    return true;
  }

  // --- state

  // Finds contents that could be written directly into their buffer: whole results of nodes, outside of the
  // caller's memory. Finds none if there are jumps: a node may then run before an earlier one of the list. A
  // place with several writers may be overwritten before the buffer's old content is read.
  void find_stored() {
    stored_in_.assign(result_.values.size(), nullptr);
    written_in_.assign(result_.values.size(), nullptr);
    auto jumps = [](const Node& node) { return control_op(node) != ControlOp::None; };
    if (std::ranges::any_of(method_.graph->nodes(), jumps)) return;
    std::vector<std::uint32_t> writers(result_.values.size(), 0);
    for (const Node& node : method_.graph->nodes()) {
      for (const Value* value : node.results()) ++writers[result_.numbers[*value]];
    }
    auto may_move = [&](const Value& value) {
      const PlacedValue& place = placed(value);
      if (place.kind != PlaceKind::Planned) return false;
      const bool is_whole = place.offset == 0 && place.bytes == result_.values[place.base].bytes;
      return is_whole && writers[place.base] == 1 && !uses_.is_output[place.base];
    };
    for (const Store& store : result_.stores) {
      if (placed(*store.target).kind != PlaceKind::State) continue;
      // Includes the value that the content is a changed copy of, and so on, if nothing else uses it.
      for (const Value* value = store.content; value != nullptr && may_move(*value);) {
        stored_in_[placed(*value).base] = store.target;
        const Node* node = value->producer();
        value = node == nullptr ? nullptr : donated_operand(*node, value->index());
        if (value != nullptr && last_use_[placed(*value).base] != time_of(*node)) break;
      }
    }
  }

  // Writes the new content of a buffer into the buffer if its old content is not needed after this node. The
  // node itself may read it if its kernel reads each element before writing it.
  bool store_in_place(const Node& node, const Value& result) {
    if (node.results().size() != 1 && donated_operand(node, result.index()) == nullptr) return false;
    std::uint32_t number = result_.numbers[result];
    const Value* target = stored_in_[number];
    const OpDef* def = node.def();
    bool is_call = is_delegate_call(node) ||
                   (def != nullptr && (def->is(OpFlag::MayAliasOperand) || !def->out_name.empty()));
    if (target == nullptr || !is_call) return false;
    std::uint32_t last = last_use_[result_.numbers[*target]];
    bool is_free = last <= time_of(node) && may_overwrite(node, result, *target);
    if (!memory_.empty() && is_free) {
      const std::size_t bank = memory_.index_of(slot_of(*target)->memory_id);
      is_free = may_share_bank(result, static_cast<std::uint32_t>(bank));
    }
    if (is_free) written_in_[number] = target;
    return is_free;
  }

  bool lies_in(const PlacedValue& place, const Value& buffer) const {
    if (place.kind == PlaceKind::Planned) return written_in_[place.base] == &buffer;
    return place.kind == PlaceKind::State && place.base == result_.numbers[buffer];
  }

  bool may_overwrite(const Node& node, const Value& result, const Value& target) {
    const Value* donated = donated_operand(node, result.index());
    const OpDef* def = node.def();
    const bool is_pointwise = def != nullptr && def->is(OpFlag::Pointwise);
    std::size_t readers = 0;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value& operand = *node.operand(i);
      if (!lies_in(placed(operand), target)) continue;
      if (operand.tensor() != result.tensor()) return false;
      if (!is_pointwise && (&operand != donated || ++readers > 1)) return false;
    }
    return true;
  }

  // Gives the buffer's offset to buffers, their views and values written into them; keeps only the stores
  // that still need a copy.
  void place_state() {
    for (PlacedValue& value : result_.values) {
      if (value.kind != PlaceKind::Planned || written_in_[value.base] == nullptr) continue;
      value.base = result_.numbers[*written_in_[value.base]];
      value.kind = PlaceKind::State;
    }
    for (const Value* input : method_.graph->inputs()) {
      const StateSlot* slot = options_.alloc_state ? slot_of(*input) : nullptr;
      if (slot == nullptr) continue;
      placed(*input).tensor.constant = slot->initial;
      // The memory must exist even if all buffers are empty.
      std::uint64_t end = std::max(slot->offset + slot->bytes, block_alignment);
      state_bytes_ = std::max(state_bytes_, end + uses_.arena_padding);
    }
    set_state_places(result_, method_, state_);
    std::erase_if(result_.stores, [&](const Store& store) {
      return placed(*store.content).base == placed(*store.target).base;
    });
  }

  // Copies are made after all nodes have run. Outputs never lie in the state itself, which the next call of
  // any method may change.
  void copy_old_contents() {
    std::vector<bool> is_written(result_.values.size());
    for (const Store& store : result_.stores) is_written[placed(*store.target).base] = true;
    for (const Value* input : method_.graph->inputs()) {
      if (slot_of(*input) != nullptr && !options_.alloc_state) is_written[result_.numbers[*input]] = true;
    }
    for (const Store& store : result_.stores) {
      if (is_written[placed(*store.content).base]) copy_old(*store.content);
    }
    for (std::size_t i = 0; i < method_.outputs.size(); ++i) {
      const Argument& output = method_.graph->outputs()[i];
      if (method_.outputs[i].kind != OutputSpec::Kind::UserOutput || !output.is_value()) continue;
      const PlacedValue& place = placed(*output.as_value());
      if (place.kind == PlaceKind::None) continue;
      if (place.kind == PlaceKind::State || is_written[place.base]) copy_old(*output.as_value());
    }
  }

  void copy_old(const Value& value) {
    if (!copied_.insert(&value).second) return;
    PlanTensor copy = placed(value).tensor;
    copy.constant = 0;
    copy.memory_id = 0;
    copy.memory_offset = 0;
    copy.name.clear();
    result_.old_contents.push_back({&value, std::move(copy)});
    bool is_callers = uses_.is_output[result_.numbers[value]] && !options_.alloc_outputs;
    result_.copy_blocks.push_back(is_callers ? no_block : static_cast<std::uint32_t>(result_.blocks.size()));
    if (is_callers) return;
    result_.blocks.push_back({end_time(), end_time(), placed(value).bytes});
    result_.owners.push_back({&value, any_bank});
  }

  const Program& program_;
  const Method& method_;
  const State& state_;
  const DelegateIndex& delegates_;
  const MemoryMap& memory_;
  const WriteOptions& options_;
  SlicePolicy slices_;
  bool join_;
  bool donate_;
  bool has_donated_ = false;
  bool has_slices_ = false;
  const NodeOrder& order_;
  Loops loops_;
  Placement result_;
  ValueUses uses_;
  Joins joins_;
  std::vector<std::uint32_t> first_use_;  // start of life of a base
  std::vector<std::uint32_t> last_use_;   // last use of a base and its views
  std::vector<std::uint32_t> pins_;       // by base: index of a bank; empty without banks
  std::uint64_t pin_conflicts_ = 0;
  std::uint64_t state_bytes_ = 0;
  std::vector<const Value*> stored_in_;      // by value: the buffer that it becomes the content of
  std::vector<const Value*> written_in_;     // like stored_in_, if it is written directly into the buffer
  std::unordered_set<const Value*> copied_;  // values whose old content is copied
};

}  // namespace

void set_places(Placement& placement, std::span<const BlockPlace> places) {
  for (std::size_t i = 0; i < placement.copy_blocks.size(); ++i) {
    if (placement.copy_blocks[i] == no_block) continue;
    const BlockPlace& place = places[placement.copy_blocks[i]];
    placement.old_contents[i].copy.memory_id = place.memory_id;
    placement.old_contents[i].copy.memory_offset = place.offset;
  }
  for (PlacedValue& value : placement.values) {
    if (value.kind != PlaceKind::Planned) continue;
    const BlockPlace& place = places[placement.block_of[value.base]];
    value.tensor.memory_id = place.memory_id;
    value.tensor.memory_offset = place.offset + value.offset;
  }
}

void set_state_places(Placement& placement, const Method& method, const State& state) {
  for (const Value* input : method.graph->inputs()) {
    PlacedValue& value = placement.values[placement.numbers[*input]];
    if (value.kind != PlaceKind::State) continue;
    const StateSlot& slot = *state.slot_of(method, *input);
    value.tensor.memory_id = slot.memory_id;
    value.tensor.memory_offset = slot.offset;
  }
  for (PlacedValue& value : placement.values) {
    if (value.kind != PlaceKind::State) continue;
    const PlanTensor& base = placement.values[value.base].tensor;
    value.tensor.memory_id = base.memory_id;
    value.tensor.memory_offset = base.memory_offset + value.offset;
  }
}

// Prefers the placement with the fewest copies; uses another one only if it needs less memory, or less traffic
// of slow memory banks.
Result<Placement> place_values(const Program& program, const Method& method, const State& state,
                               const DelegateIndex& delegates, const MemoryMap& memory,
                               const WriteOptions& options) {
  NodeOrder order(*method.graph);
  ValueNumbers numbers = number_values(*method.graph, order);
  bool has_joins = false;
  bool has_donated = false;
  auto best_slices = [&](bool join, bool donate) -> Result<Placement> {
    auto placer = [&](SlicePolicy slices) {
      return Placer(program, method, order, numbers, state, delegates, memory, options,
                    {.slices = slices, .join = join, .donate = donate});
    };
    Placer with_slices = placer(SlicePolicy::All);
    TRY(Placement best, with_slices.run());
    has_joins |= with_slices.has_joins();
    has_donated |= with_slices.has_donated();
    if (!with_slices.has_slices()) return best;
    TRY(Placement none, placer(SlicePolicy::None).run());
    if (best.cost <= none.cost) return best;
    TRY(best, placer(SlicePolicy::Frugal).run());
    return best.cost <= none.cost ? std::move(best) : std::move(none);
  };
  TRY(Placement best, best_slices(true, true));
  const std::pair<bool, bool> others[] = {{true, false}, {false, true}, {false, false}};
  for (const auto& [join, donate] : others) {
    if ((!join && !has_joins) || (!donate && !has_donated)) continue;
    TRY(Placement other, best_slices(join, donate));
    if (other.cost < best.cost) best = std::move(other);
  }
  return best;
}

}  // namespace depute
