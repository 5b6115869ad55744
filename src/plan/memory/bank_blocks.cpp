#include "plan/memory/bank_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/maker.h"
#include "plan/memory/tensor_bounds.h"
#include "plan/plan_text.h"
#include "support/number_text.h"

namespace depute {
namespace {

std::uint64_t rounded_down(std::uint64_t bytes, std::uint64_t alignment) {
  return bytes / alignment * alignment;
}

class Distributor {
 public:
  Distributor(const Program& program, const Method& method, const Placement& placement,
              const MemoryMap& memory, const State& state)
      : program_(program), method_(method), placement_(placement), memory_(memory), starts_(state.bank_ends) {
    starts_.resize(memory.banks().size());
    state_traffic_.resize(memory.banks().size());
  }

  PackedBlocks run() {
    count_uses();
    find_rooms();
    plan_ = plan_banks(placement_.blocks, uses_, rooms_);
    PackedBlocks packed;
    for (std::size_t i = 0; i < placement_.blocks.size(); ++i) {
      const std::uint32_t bank = plan_.banks[i];
      packed.places.push_back({memory_.banks()[bank].memory_id, starts_[bank] + plan_.offsets[i]});
    }
    packed.memory_sizes = sizes();
    packed.cost = {.slow_traffic = 0, .bytes = plan_.cost.bytes};
    for (std::size_t bank = 0; bank < rooms_.size(); ++bank) {
      const PlanBank& each = packed.banks.emplace_back(use_of(bank, packed.memory_sizes));
      if (each.used > each.size) packed.cost.excess += each.used - each.size;
      packed.cost.slow_traffic += each.traffic * bank;
    }
    if (packed.cost.excess > 0) packed.misfit = misfit(packed);
    if (!memory_.has_sizes()) packed.banks.clear();
    return packed;
  }

 private:
  PlanBank use_of(std::size_t bank, std::span<const std::uint64_t> sizes) const {
    const MemoryBank& declared = memory_.banks()[bank];
    PlanBank use{.name = declared.name, .memory_id = declared.memory_id, .size = declared.size};
    if (declared.memory_id < sizes.size()) use.used = sizes[declared.memory_id];
    use.traffic = state_traffic_[bank];
    std::vector<MemoryBlock> blocks;
    for (std::size_t i = 0; i < placement_.blocks.size(); ++i) {
      if (plan_.banks[i] != bank) continue;
      blocks.push_back(placement_.blocks[i]);
      use.traffic += uses_[i].traffic;
    }
    use.peak = starts_[bank] + peak_bytes(blocks);
    return use;
  }

  // Callers write inputs and read outputs. Nodes without an instruction touch nothing.
  void count_uses() {
    uses_.resize(placement_.blocks.size());
    for (std::size_t i = 0; i < uses_.size(); ++i) uses_[i].bank = placement_.owners[i].bank;
    const Graph& graph = *method_.graph;
    for (const Value* input : graph.inputs()) {
      if (placement_[*input].kind == PlaceKind::Planned) touch(*input);
    }
    for (const Node& node : graph.nodes()) {
      if (placement_.actions[node.id()] != NodeAction::Call) continue;
      for (const Value* result : node.results()) touch(*result);
      for (std::size_t i = 0; i < node.operand_count(); ++i) touch(*node.operand(i));
    }
    for (const Store& store : placement_.stores) {
      touch(*store.content);
      touch(*store.target);
    }
    for (const Argument& output : graph.outputs()) {
      if (output.is_value()) touch(*output.as_value());
    }
  }

  void touch(const Value& value) {
    const PlacedValue& place = placement_[value];
    if (place.kind == PlaceKind::State)
      state_traffic_[memory_.index_of(place.tensor.memory_id)] += place.bytes;
    if (place.kind != PlaceKind::Planned || placement_.block_of[place.base] == no_block) return;
    uses_[placement_.block_of[place.base]].traffic += place.bytes;
  }

  void find_rooms() {
    for (std::size_t bank = 0; bank < starts_.size(); ++bank) {
      const std::uint64_t alignment = memory_.alignment(bank);
      const std::uint64_t taken = starts_[bank] + placement_.padding;
      const std::uint64_t size = memory_.banks()[bank].size;
      rooms_.push_back({rounded_down(size > taken ? size - taken : 0, alignment), alignment});
    }
  }

  // A bank must exist even if all its tensors are empty.
  std::vector<std::uint64_t> sizes() const {
    std::vector<bool> is_used(rooms_.size());
    for (const PlacedValue& value : placement_.values) {
      if (value.kind == PlaceKind::State) is_used[memory_.index_of(value.tensor.memory_id)] = true;
    }
    for (const std::uint32_t bank : plan_.banks) is_used[bank] = true;
    std::vector<std::uint64_t> sizes = {0};
    if (std::ranges::find(is_used, true) == is_used.end()) return sizes;
    for (std::size_t bank = 0; bank < rooms_.size(); ++bank) {
      const std::uint32_t id = memory_.banks()[bank].memory_id;
      sizes.resize(std::max<std::size_t>(sizes.size(), id + 1));
      if (!is_used[bank]) continue;
      sizes[id] = std::max(starts_[bank] + plan_.used[bank], block_alignment) + placement_.padding;
    }
    return sizes;
  }

  bool is_beyond(std::size_t block) const {
    const std::uint32_t bank = plan_.banks[block];
    return plan_.offsets[block] + placement_.blocks[block].bytes > rooms_[bank].bytes;
  }

  RefusedNode misfit(const PackedBlocks& packed) const {
    std::size_t worst = placement_.blocks.size();
    for (std::size_t i = 0; i < placement_.blocks.size(); ++i) {
      const bool is_larger =
          worst == placement_.blocks.size() || placement_.blocks[i].bytes > placement_.blocks[worst].bytes;
      if (placement_.blocks[i].bytes > 0 && is_beyond(i) && is_larger) worst = i;
    }
    for (std::size_t bank = 0; bank < rooms_.size(); ++bank) {
      const bool is_full = packed.banks[bank].used > packed.banks[bank].size;
      const bool is_states = worst == placement_.blocks.size() || starts_[bank] > packed.banks[bank].size;
      if (is_full && is_states) return state_misfit(packed.banks[bank], starts_[bank]);
    }
    return block_misfit(worst, packed.banks[plan_.banks[worst]]);
  }

  // Reports a block that lies beyond the end of its bank, and what is alive with it.
  RefusedNode block_misfit(std::size_t block, const PlanBank& bank) const {
    const Value* value = placement_.owners[block].value;
    const bool is_pinned = placement_.owners[block].bank != any_bank;
    const std::string_view form =
        is_pinned ? "%{} of {} bytes is pinned to bank {}, which has {} bytes and needs {} more"
                  : "%{} of {} bytes fits into no bank: the last, {}, has {} bytes and needs {} more";
    const std::string message =
        fmt::format(fmt::runtime(form), value->name().str(), placement_.blocks[block].bytes, bank.name,
                    bank.size, bank.used - bank.size);
    Failure failure = plan_error(method_.name, value->producer(), message, hint);
    failure.error().code = memory_bank_code;
    failure.error().source = source_of(*value);
    failure.error().details = alive_with(block);
    return {value->producer(), std::move(failure).error()};
  }

  RefusedNode state_misfit(const PlanBank& bank, std::uint64_t state) const {
    std::string message =
        fmt::format("bank {} of {} bytes needs {} more: buffers that are kept between calls take {}",
                    bank.name, bank.size, bank.used - bank.size, state);
    if (placement_.padding > 0)
      message += fmt::format(", and delegates may read {} behind them", placement_.padding);
    Failure failure = plan_error(method_.name, nullptr, message, hint);
    failure.error().code = memory_bank_code;
    return {nullptr, std::move(failure).error()};
  }

  std::vector<std::string> alive_with(std::size_t block) const {
    constexpr std::size_t max_shown = 6;
    const MemoryBlock& wanted = placement_.blocks[block];
    std::vector<std::size_t> alive;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < placement_.blocks.size(); ++i) {
      const MemoryBlock& other = placement_.blocks[i];
      if (other.bytes == 0 || other.last < wanted.first || other.first > wanted.first) continue;
      alive.push_back(i);
      bytes += other.bytes;
    }
    std::ranges::stable_sort(alive, std::ranges::greater(),
                             [&](std::size_t i) { return placement_.blocks[i].bytes; });
    std::vector<std::string> lines = {
        fmt::format("alive when it is computed: {}, {} bytes", plural(alive.size(), "tensor"), bytes)};
    for (std::size_t i = 0; i < std::min(alive.size(), max_shown); ++i) lines.push_back(line_of(alive[i]));
    if (alive.size() > max_shown) lines.push_back(fmt::format("and {} more", alive.size() - max_shown));
    for (std::size_t bank = 0; bank < rooms_.size(); ++bank) {
      if (starts_[bank] > 0)
        lines.push_back(fmt::format("{} bytes of buffers that are kept between calls in {}", starts_[bank],
                                    memory_.banks()[bank].name));
    }
    return lines;
  }

  std::string line_of(std::size_t block) const {
    const Value& value = *placement_.owners[block].value;
    std::string line =
        fmt::format("{} bytes, %{}: {} in {}", placement_.blocks[block].bytes, value.name().str(),
                    tensor_text(placement_[value].tensor), memory_.banks()[plan_.banks[block]].name);
    const std::string source = source_of(value);
    return source.empty() ? line : line + ", " + source;
  }

  std::string source_of(const Value& value) const {
    const Node* maker = maker_of(program_, value);
    return maker == nullptr || maker->source == nullptr ? "" : maker->source->str();
  }

  static constexpr std::string_view memory_bank_code = "plan.memory-bank";
  static constexpr std::string_view hint =
      "give a bank more room, add a bank, or plan for smaller inputs with --bound";
  const Program& program_;
  const Method& method_;
  const Placement& placement_;
  const MemoryMap& memory_;
  std::vector<std::uint64_t> starts_;  // per bank: bytes of state
  std::vector<BlockUse> uses_;
  std::vector<BankRoom> rooms_;
  std::vector<std::uint64_t> state_traffic_;  // per bank
  BankPlan plan_;
};

RefusedNode refused_pin(const Method& method, const Value& value, const MemoryBank& first,
                        const MemoryBank& second) {
  const std::string message =
      fmt::format("%{} is pinned to bank {}, but shares memory with a value that is pinned to {}",
                  value.name().str(), second.name, first.name);
  return {value.producer(),
          plan_error(method.name, value.producer(), message, "pin both to one bank").error()};
}

}  // namespace

std::vector<std::uint32_t> find_pins(const Program& program, const Method& method, const MemoryMap& memory,
                                     Placement& placement) {
  std::vector<std::uint32_t> pins(placement.values.size(), any_bank);
  const auto pin = [&](const Value& value, std::optional<std::uint32_t> bank) {
    if (!bank || placement[value].kind != PlaceKind::Planned) return;
    std::uint32_t& pinned = pins[placement[value].base];
    if (pinned != any_bank && pinned != *bank)
      placement.refused.push_back(refused_pin(method, value, memory.banks()[pinned], memory.banks()[*bank]));
    pinned = *bank;
  };
  for (const Value* input : method.graph->inputs()) pin(*input, memory.pin_of_input(method, *input, {}));
  for (const Node& node : method.graph->nodes()) {
    for (const Value* result : node.results()) {
      std::optional<std::uint32_t> bank = memory.pin_of_value(method, *result);
      if (!bank) bank = memory.pin_of(node);
      const Node* maker = bank ? nullptr : maker_of(program, *result);
      pin(*result, maker == nullptr ? bank : memory.pin_of(*maker));
    }
  }
  return pins;
}

PackedBlocks pack_into_banks(const Program& program, const Method& method, const Placement& placement,
                             const MemoryMap& memory, const State& state) {
  return Distributor(program, method, placement, memory, state).run();
}

}  // namespace depute
