#include "plan/memory/callers_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <unordered_set>

#include "depute/program/op.h"
#include "plan/memory/live_blocks.h"
#include "plan/memory/tensor_bounds.h"
#include "plan/plan_text.h"
#include "support/check.h"
#include "support/guarded.h"
#include "support/number_text.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view planner_code = "plan.memory-planner";
constexpr std::string_view planner_name = "memory planner";
constexpr std::uint64_t max_offset = std::uint64_t{1} << 48;  // of a place; sums of sizes cannot overflow

// Describes the tensors of one method to the caller's functions.
class Describer {
 public:
  Describer(const Method& method, const State& state) : method_(method), state_(state) {
    for (std::size_t i = 0; i < method.outputs.size(); ++i) {
      const Argument& output = method.graph->outputs()[i];
      if (method.outputs[i].kind == OutputSpec::Kind::UserOutput && output.is_value())
        outputs_.insert(output.as_value());
    }
  }

  PlannedValue describe(const Value& value, const PlanTensor& tensor, std::uint32_t order) const {
    PlannedValue made{.name = std::string(value.name().str()),
                      .order = order,
                      .kind = kind_of(value),
                      .dtype = value.tensor().dtype,
                      .sizes = {tensor.sizes.begin(), tensor.sizes.end()},
                      .is_dynamic = tensor.dynamism != ShapeDynamism::Static};
    const Node* node = value.producer();
    if (node == nullptr) return made;
    if (node->def() != nullptr) made.kernel = node->def()->out_name;
    if (made.kernel.empty()) made.kernel = node->op().str();
    for (std::size_t i = 0; i < node->operand_count(); ++i) {
      const Value& operand = *node->operand(i);
      if (operand.type().is_tensor()) made.operands.emplace_back(operand.name().str());
    }
    return made;
  }

 private:
  PlannedKind kind_of(const Value& value) const {
    if (value.producer() != nullptr)
      return outputs_.contains(&value) ? PlannedKind::Output : PlannedKind::Temporary;
    return state_.slot_of(method_, value) != nullptr ? PlannedKind::State : PlannedKind::Input;
  }

  const Method& method_;
  const State& state_;
  std::unordered_set<const Value*> outputs_;
};

// Calls `visit` with the inputs of a method and the results of its nodes, if they are tensors.
template <typename Visit>
void for_each_tensor(const Method& method, Visit&& visit) {
  for (const Value* input : method.graph->inputs()) {
    if (input->type().is_tensor()) visit(*input);
  }
  for (const Node& node : method.graph->nodes()) {
    for (const Value* result : node.results()) {
      if (result->type().is_tensor()) visit(*result);
    }
  }
}

class PlaceQuestion {
 public:
  PlaceQuestion(std::span<PlacedMethod> methods, const MemoryMap& memory, State& state, bool alloc_state)
      : methods_(methods), memory_(memory), state_(state), alloc_state_(alloc_state) {
    if (alloc_state_) add_state();
    for (PlacedMethod& method : methods_) add_method(method);
  }

  Status ask(const MemoryPlanner& planner) {
    TRY(answer_, call_foreign(planner_code, planner_name, [&] { return planner.place(blocks_); }));
    check();
    if (!mistakes_.empty()) return failed();
    for (const auto& [slot, place] : state_places()) {
      slot->memory_id = place.memory_id;
      slot->offset = place.offset;
    }
    for (std::size_t i = 0; i < methods_.size(); ++i) apply(i);
    return {};
  }

 private:
  // State lies at one place in all methods.
  void add_state() {
    for (const auto& [key, slot] : state_.slots) {
      if (slot.bytes == 0) continue;
      PlannedBlock& block = blocks_.emplace_back(PlannedBlock{.method = {},
                                                              .values = {},
                                                              .kind = PlannedKind::State,
                                                              .bytes = slot.bytes,
                                                              .alignment = block_alignment,
                                                              .last = ~std::uint32_t{0}});
      PlannedValue& value = block.values.emplace_back(
          PlannedValue{.name = std::string(key.str()), .kind = PlannedKind::State, .dtype = slot.type.dtype});
      for (const SymInt& size : slot.type.sizes) value.sizes.push_back(size.value());
      if (!memory_.empty()) block.memory_id = slot.memory_id;
    }
    state_blocks_ = blocks_.size();
  }

  // Blocks without bytes are not given to the caller.
  void add_method(PlacedMethod& placed) {
    const Placement& placement = placed.placement;
    std::vector<std::uint32_t>& numbers = numbers_.emplace_back(placement.blocks.size(), no_block);
    for (std::size_t i = 0; i < placement.blocks.size(); ++i) {
      const MemoryBlock& block = placement.blocks[i];
      if (block.bytes == 0) continue;
      numbers[i] = static_cast<std::uint32_t>(blocks_.size());
      PlannedBlock& made = blocks_.emplace_back(PlannedBlock{.method = std::string(placed.method->name.str()),
                                                             .values = {},
                                                             .bytes = block.bytes,
                                                             .alignment = block_alignment,
                                                             .first = block.first,
                                                             .last = block.last,
                                                             .padding = placement.padding});
      const std::uint32_t bank = placement.owners[i].bank;
      if (bank != any_bank) made.memory_id = memory_.banks()[bank].memory_id;
    }
    const Describer describer(placed.straight(), state_);
    std::uint32_t order = 0;
    const auto add = [&](PlannedValue value, std::uint32_t number) {
      if (number == no_block || numbers[number] == no_block) return;
      PlannedBlock& block = blocks_[numbers[number]];
      if (value.kind == PlannedKind::Output || block.kind == PlannedKind::Temporary) block.kind = value.kind;
      block.values.push_back(std::move(value));
    };
    for_each_tensor(placed.straight(), [&](const Value& value) {
      const PlacedValue& place = placement[value];
      if (place.kind == PlaceKind::Planned)
        add(describer.describe(value, place.tensor, order), placement.block_of[place.base]);
      ++order;
    });
    for (std::size_t i = 0; i < placement.copy_blocks.size(); ++i) {
      const auto& [value, copy] = placement.old_contents[i];
      PlannedValue made = describer.describe(*value, copy, order++);
      made.kind = PlannedKind::Output;
      made.kernel = "aten::clone.out";
      made.operands = {made.name};
      add(std::move(made), placement.copy_blocks[i]);
    }
    for (const PlannedBlock& block : blocks_) CHECK(!block.values.empty()) << block.method;
  }

  static std::uint64_t aligned(std::uint64_t bytes) {
    return (bytes + block_alignment - 1) / block_alignment * block_alignment;
  }

  std::string name_of(std::uint32_t number) const {
    const PlannedBlock& block = blocks_[number];
    const std::string name = block.kind == PlannedKind::State && block.method.empty()
                                 ? "buffer " + in_quotes(block.values.front().name)
                                 : "%" + block.values.front().name;
    return methods_.size() == 1 || block.method.empty() ? name : name + " of method " + block.method;
  }

  // --- checks

  void check() {
    if (answer_.places.size() != blocks_.size()) {
      mistakes_.push_back(
          fmt::format("there are {} places for {}", answer_.places.size(), plural(blocks_.size(), "block")));
      return;
    }
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) check_place(i);
    for (std::uint32_t i = 0; i < state_blocks_; ++i) order_.push_back(i);
    check_overlaps(0);
    for (std::uint32_t i = static_cast<std::uint32_t>(state_blocks_); i < blocks_.size();) {
      order_.resize(state_blocks_);
      const std::string& method = blocks_[i].method;
      for (; i < blocks_.size() && blocks_[i].method == method; ++i) order_.push_back(i);
      check_overlaps(state_blocks_);
    }
    for (const auto& [method, sizes] : answer_.memory_sizes) {
      if (std::ranges::none_of(methods_,
                               [&](const PlacedMethod& each) { return each.method->name.str() == method; }))
        mistakes_.push_back(
            fmt::format("there are memory sizes for {}, which is no method", in_quotes(method)));
    }
    if (!std::ranges::all_of(answer_.places, is_possible)) return;
    for (std::size_t i = 0; i < methods_.size(); ++i) check_sizes(i);
  }

  static bool is_possible(const BlockPlace& place) {
    return place.memory_id >= 1 && place.memory_id <= max_memory_id && place.offset <= max_offset;
  }

  void check_place(std::uint32_t number) {
    const PlannedBlock& block = blocks_[number];
    const auto [memory, offset] = answer_.places[number];
    const auto add = [&](std::string_view what) {
      mistakes_.push_back(fmt::format("{} of {} bytes {}", name_of(number), block.bytes, what));
    };
    if (memory == 0) return add("has no place");
    if (memory > max_memory_id)
      return add(fmt::format("lies in memory {}, which is not one of 1 to {}", memory, max_memory_id));
    if (block.memory_id && *block.memory_id != memory)
      add(fmt::format("lies in memory {}, but must lie in memory {}", memory, *block.memory_id));
    if (offset % block.alignment != 0)
      add(fmt::format("starts at {} of memory {}, which is no multiple of {}", offset, memory,
                      block.alignment));
    if (offset > max_offset)
      add(fmt::format("starts at {} of memory {}, which is more than {}", offset, memory, max_offset));
  }

  // Compares the blocks in order_ from `first` on with all before them.
  void check_overlaps(std::size_t first) {
    std::vector<MemoryBlock> lives;
    for (const std::uint32_t number : order_)
      lives.push_back({blocks_[number].first, blocks_[number].last, blocks_[number].bytes});
    LiveBlocks placed(lives);
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      found.clear();
      if (i >= first) placed.find_overlapping(i, found);
      for (const std::uint32_t other : found) check_overlap(order_[other], order_[i]);
      placed.insert(i);
    }
  }

  void check_overlap(std::uint32_t one, std::uint32_t other) {
    const BlockPlace& a = answer_.places[one];
    const BlockPlace& b = answer_.places[other];
    if (!is_possible(a) || !is_possible(b)) return;
    const bool is_apart = a.memory_id != b.memory_id || a.offset + blocks_[one].bytes <= b.offset ||
                          b.offset + blocks_[other].bytes <= a.offset;
    if (is_apart) return;
    mistakes_.push_back(fmt::format(
        "{} and {} overlap in memory {}: {} bytes from {} and {} bytes from {}, {}", name_of(one),
        name_of(other), a.memory_id, blocks_[one].bytes, a.offset, blocks_[other].bytes, b.offset,
        fmt::format("both alive at step {}", std::max(blocks_[one].first, blocks_[other].first))));
  }

  // Returns the ends of the blocks of a method in each memory, with the padding and the state that it uses.
  std::vector<std::uint64_t> needs_of(std::size_t index) const {
    const PlacedMethod& method = methods_[index];
    std::vector<std::uint64_t> needs = {0};
    const auto add = [&](const BlockPlace& place, std::uint64_t bytes) {
      needs.resize(std::max<std::size_t>(needs.size(), place.memory_id + 1));
      // A memory must exist even if all its tensors are empty.
      const std::uint64_t end = std::max(place.offset + aligned(bytes), block_alignment);
      needs[place.memory_id] = std::max(needs[place.memory_id], end + method.placement.padding);
    };
    const std::vector<BlockPlace> places = places_of(index);
    for (std::size_t i = 0; i < places.size(); ++i) add(places[i], method.placement.blocks[i].bytes);
    for (const auto& [slot, place] : state_places()) {
      const bool is_used = std::ranges::any_of(method.straight().graph->inputs(), [&](const Value* input) {
        return state_.slot_of(method.straight(), *input) == slot;
      });
      if (is_used) add(place, slot->bytes);
    }
    return needs;
  }

  // False if all blocks of the method in this memory are empty.
  bool holds_bytes(std::size_t index, std::size_t memory) const {
    const auto lies_there = [&](std::uint32_t number) {
      return number != no_block && answer_.places[number].memory_id == memory;
    };
    return std::ranges::any_of(numbers_[index], lies_there) ||
           std::ranges::any_of(std::views::iota(0U, static_cast<std::uint32_t>(state_blocks_)), lies_there);
  }

  void check_sizes(std::size_t index) {
    const std::string method(methods_[index].method->name.str());
    const auto given = answer_.memory_sizes.find(method);
    if (given == answer_.memory_sizes.end()) return;
    std::vector<std::uint64_t>& sizes = given->second;
    const std::vector<std::uint64_t> needs = needs_of(index);
    sizes.resize(std::max(sizes.size(), needs.size()));
    if (sizes.size() > max_memory_id + 1)
      mistakes_.push_back(fmt::format("method {} has {} memories; the highest is {}", method,
                                      sizes.size() - 1, max_memory_id));
    if (sizes[0] != 0)
      mistakes_.push_back(
          fmt::format("memory 0 of method {} has {} bytes, but is no memory for values", method, sizes[0]));
    for (std::size_t id = 1; id < needs.size(); ++id) {
      const std::uint64_t least =
          needs[id] - std::min<std::uint64_t>(needs[id], methods_[index].placement.padding);
      if (sizes[id] < least && holds_bytes(index, id))
        mistakes_.push_back(
            fmt::format("memory {} of method {} has {} bytes, but needs {}", id, method, sizes[id], least));
      sizes[id] = std::max(sizes[id], needs[id]);
    }
  }

  Failure failed() const {
    constexpr std::size_t max_shown = 20;
    Failure failure = depute::failure(planner_code, planner_name, mistakes_.front(),
                                      "blocks that are alive at the same time need bytes of their own");
    if (mistakes_.size() == 1) return failure;
    failure.error().message = fmt::format("the places have {}", plural(mistakes_.size(), "mistake"));
    failure.error().details.assign(
        mistakes_.begin(),
        mistakes_.begin() + static_cast<std::ptrdiff_t>(std::min(mistakes_.size(), max_shown)));
    if (mistakes_.size() > max_shown)
      failure.error().details.push_back(fmt::format("and {} more", mistakes_.size() - max_shown));
    return failure;
  }

  // --- the answer

  // Returns a place for each block of a method; empty blocks start their memory.
  std::vector<BlockPlace> places_of(std::size_t index) const {
    std::vector<BlockPlace> places;
    const Placement& placement = methods_[index].placement;
    for (std::size_t i = 0; i < placement.blocks.size(); ++i) {
      const std::uint32_t number = numbers_[index][i];
      const std::uint32_t bank = placement.owners[i].bank;
      const std::uint32_t memory = bank == any_bank ? 1 : memory_.banks()[bank].memory_id;
      places.push_back(number == no_block ? BlockPlace{.memory_id = memory} : answer_.places[number]);
    }
    return places;
  }

  // Returns the places of all slots in planned memory; empty ones start memory 1.
  std::vector<std::pair<StateSlot*, BlockPlace>> state_places() const {
    std::vector<std::pair<StateSlot*, BlockPlace>> places;
    std::size_t next = 0;
    for (auto& [key, slot] : state_.slots) {
      if (alloc_state_)
        places.emplace_back(&slot, slot.bytes == 0 ? BlockPlace{.memory_id = 1} : answer_.places[next++]);
    }
    return places;
  }

  void apply(std::size_t index) {
    PlacedMethod& method = methods_[index];
    const auto given = answer_.memory_sizes.find(std::string(method.method->name.str()));
    method.placement.memory_sizes = given == answer_.memory_sizes.end() ? needs_of(index) : given->second;
    set_places(method.placement, places_of(index));
    set_state_places(method.placement, method.straight(), state_);
  }

  std::span<PlacedMethod> methods_;
  const MemoryMap& memory_;
  State& state_;
  bool alloc_state_;
  std::vector<PlannedBlock> blocks_;
  std::size_t state_blocks_ = 0;                     // at the start of blocks_
  std::vector<std::vector<std::uint32_t>> numbers_;  // by method and block of its placement: index in blocks_
  MemoryPlacement answer_;
  std::vector<std::uint32_t> order_;
  std::vector<std::string> mistakes_;
};

}  // namespace

Result<ValuePins> ask_for_pins(const Program& program, const MemoryPlanner& planner) {
  ValuePins pins;
  if (!planner.pin) return pins;
  TRY(const State state, lay_out_state(program, {}, false));
  for (const auto& method : program.methods) {
    TRY(const FlatMethod flat, flatten(program, *method));
    const Method& straight = flat.method != nullptr ? *flat.method : *method;
    const Describer describer(straight, state);
    TensorBounds bounds(program.ranges, method->name);
    std::vector<RefusedNode> refused;  // told when the values are placed
    std::vector<PlannedValue> values;
    for_each_tensor(straight, [&](const Value& value) {
      const bool is_constant = value.producer() == nullptr && input_spec(straight, value)->has_data() &&
                               state.slot_of(straight, value) == nullptr;
      if (is_constant) return;
      values.push_back(describer.describe(value, bounds.bound(value, refused).tensor,
                                          static_cast<std::uint32_t>(values.size())));
    });
    const std::string name(method->name.str());
    TRY(const std::vector<std::uint32_t> ids,
        call_foreign(planner_code, planner_name, [&] { return planner.pin(name, values); }));
    if (ids.size() != values.size())
      return failure(planner_code, planner_name,
                     fmt::format("there are {} pins for {} of method {}", ids.size(),
                                 plural(values.size(), "value"), name));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] > max_memory_id)
        return failure(planner_code, planner_name,
                       fmt::format("%{} of method {} is pinned to memory {}, which is not one of 1 to {}",
                                   values[i].name, name, ids[i], max_memory_id));
      if (ids[i] != 0) pins.insert_or_assign({name, values[i].name}, ids[i]);
    }
  }
  return pins;
}

Status ask_for_places(std::span<PlacedMethod> methods, const MemoryMap& memory, State& state,
                      const WriteOptions& options) {
  return PlaceQuestion(methods, memory, state, options.alloc_state).ask(options.planner);
}

}  // namespace depute
