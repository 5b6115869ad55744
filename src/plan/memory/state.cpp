#include "plan/memory/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "plan/constants.h"
#include "plan/memory/memory_plan.h"
#include "plan/memory/tensor_bounds.h"
#include "plan/plan_text.h"
#include "support/try.h"

namespace depute {
namespace {

bool is_zero(const TensorData& data) {
  if (data.storage->is_zeros()) return true;
  if (data.storage->is_elided() || data.storage->is_lazy()) return false;
  const std::shared_ptr<const Storage> dense = dense_bytes(data);
  return std::ranges::all_of(dense->bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + block_alignment - 1) / block_alignment * block_alignment;
}

class StateBuilder {
 public:
  StateBuilder(const Program& program, const MemoryMap& memory, bool alloc_state)
      : program_(program), memory_(memory), alloc_state_(alloc_state) {}

  Result<State> run() {
    for (const auto& method : program_.methods) {
      for (const OutputSpec& output : method->outputs) {
        if (output.mutates_data()) state_.slots.try_emplace(output.target);
      }
    }
    if (state_.slots.empty()) return std::move(state_);
    for (const auto& method : program_.methods) {
      seen_in_method_.clear();
      for (const Value* input : method->graph->inputs()) TRY_STATUS(add_type(*method, *input));
    }
    std::uint64_t end = 0;
    for (auto& [key, slot] : state_.slots) {
      slot.offset = end;
      end += aligned(slot.bytes);
      if (alloc_state_) TRY_STATUS(add_initial_value(key, slot));
    }
    state_.initial_values = std::move(initial_).take();
    return std::move(state_);
  }

 private:
  Status add_type(const Method& method, const Value& input) {
    const InputSpec& spec = *input_spec(method, input);
    auto slot = spec.has_data() ? state_.slots.find(spec.target) : state_.slots.end();
    if (slot == state_.slots.end()) return {};
    auto bytes = input.tensor().static_bytes();
    if (!bytes) return fail(method, spec.target, "has no constant size");
    if (!seen_in_method_.insert(spec.target).second) {
      return fail(method, spec.target, "is mutated, but is passed as several inputs");
    }
    if (!is_known_.insert(spec.target).second && slot->second.type != input.tensor()) {
      return fail(method, spec.target, "has a different type in another method");
    }
    slot->second.type = input.tensor();
    slot->second.bank = memory_.pin_of_input(method, input, spec.target.str()).value_or(any_bank);
    slot->second.bytes = *bytes;
    return {};
  }

  // Memory starts as zeros, so an initial value of zeros needs no bytes in the file.
  Status add_initial_value(Name key, StateSlot& slot) {
    if (slot.bytes == 0) return {};
    const TensorData* data = program_.find_data(key);
    if (data != nullptr && is_zero(*data)) return {};
    if (data != nullptr) slot.initial = initial_.add(*data, slot.type);
    if (slot.initial != 0) return {};
    return failure("plan", fmt::format("buffer {}", in_quotes(key.str())),
                   "the dim order of the initial value does not match the buffer's type");
  }

  static Failure fail(const Method& method, Name key, std::string_view message) {
    return plan_error(method.name, nullptr, fmt::format("buffer {} {}", in_quotes(key.str()), message));
  }

  const Program& program_;
  const MemoryMap& memory_;
  bool alloc_state_;
  State state_;
  ConstantPool initial_;
  std::unordered_set<Name> is_known_;
  std::unordered_set<Name> seen_in_method_;
};

// The graph inputs that outputs can store to, by name.
class Targets {
 public:
  explicit Targets(const Method& method) {
    for (const Value* input : method.graph->inputs()) {
      const InputSpec& spec = *input_spec(method, *input);
      if (spec.has_data()) by_key_.emplace(spec.target, input);
      if (spec.kind == InputSpec::Kind::UserInput) by_name_.emplace(input->name(), input);
    }
  }
  const Value* find(const OutputSpec& output) const {
    const auto& map = output.mutates_data() ? by_key_ : by_name_;
    auto found = map.find(output.target);
    return found == map.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<Name, const Value*> by_key_;
  std::unordered_map<Name, const Value*> by_name_;
};

}  // namespace

const StateSlot* State::slot_of(const Method& method, const Value& input) const {
  const InputSpec& spec = *input_spec(method, input);
  const auto slot = spec.has_data() ? slots.find(spec.target) : slots.end();
  return slot == slots.end() ? nullptr : &slot->second;
}

Result<State> lay_out_state(const Program& program, const MemoryMap& memory, bool alloc_state) {
  return StateBuilder(program, memory, alloc_state).run();
}

void move_state_to_banks(State& state, const MemoryMap& memory, std::span<const std::uint64_t> limits) {
  std::vector<StateSlot*> slots;
  for (auto& [key, slot] : state.slots) slots.push_back(&slot);
  std::ranges::stable_sort(slots, std::ranges::greater(), [](const StateSlot* slot) {
    return std::pair(slot->bank != any_bank, slot->bytes);
  });
  state.bank_ends.assign(limits.size(), 0);
  for (StateSlot* slot : slots) {
    const auto padded = [&](std::size_t bank) {
      return (slot->bytes + memory.alignment(bank) - 1) / memory.alignment(bank) * memory.alignment(bank);
    };
    std::size_t bank = 0;
    while (bank + 1 < limits.size() && state.bank_ends[bank] + padded(bank) > limits[bank]) ++bank;
    if (slot->bank != any_bank) bank = slot->bank;
    slot->memory_id = memory.banks()[bank].memory_id;
    slot->offset = state.bank_ends[bank];
    state.bank_ends[bank] += padded(bank);
  }
}

Result<std::vector<Store>> stores_of(const Method& method) {
  std::vector<Store> stores;
  const Targets targets(method);
  std::unordered_set<const Value*> seen;
  for (std::size_t i = 0; i < method.outputs.size(); ++i) {
    const OutputSpec& output = method.outputs[i];
    if (output.kind == OutputSpec::Kind::UserOutput) continue;
    auto fail = [&](std::string_view message) {
      return plan_error(method.name, nullptr, fmt::format("{} {}", in_quotes(output.target.str()), message));
    };
    if (output.kind == OutputSpec::Kind::Token) {
      return plan_error(method.name, nullptr, "the method returns an effect token",
                        "the runtime supports only effects on buffers and inputs");
    }
    const Value* target = targets.find(output);
    const Argument& content = method.graph->outputs()[i];
    if (target == nullptr) return fail("is mutated, but is not an input of the method");
    if (!content.is_value() || !content.as_value()->type().is_tensor() || !target->type().is_tensor()) {
      return fail("is mutated, but is not a tensor");
    }
    const TensorType& from = content.as_value()->tensor();
    const TensorType& to = target->tensor();
    if (from.dtype != to.dtype || from.sizes != to.sizes) {
      return fail(fmt::format("has type {}, but its new value has type {}", str(to), str(from)));
    }
    if (!seen.insert(target).second) return fail("is mutated twice");
    stores.push_back({target, content.as_value()});
  }
  return stores;
}

}  // namespace depute
