#include "plan/state_banks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/flat/flatten.h"
#include "plan/memory/placement.h"
#include "support/try.h"

namespace depute {
namespace {

using Bytes = std::vector<std::uint64_t>;  // per bank

class LayoutSearch {
 public:
  LayoutSearch(const Program& program, const DelegateIndex& delegates, const MemoryMap& memory,
               const WriteOptions& options, const State& state)
      : program_(program), delegates_(delegates), memory_(memory), options_(options), state_(state) {
    std::uint64_t padding = 0;
    for (const auto& delegate : program.delegates)
      padding = std::max<std::uint64_t>(padding, delegate->arena_padding);
    for (const MemoryBank& bank : memory.banks())
      sizes_.push_back(bank.size > padding ? bank.size - padding : 0);
  }

  // Tries state from each bank on, the slowest first, and state in the room that values leave.
  Result<State> run() {
    Bytes limits(sizes_.size());
    for (std::size_t bank = sizes_.size(); bank-- > 0;) {
      limits[bank] = sizes_[bank];
      TRY(const Bytes used, try_layout(limits));
      if (bank + 1 == sizes_.size()) left_ = used;
    }
    for (std::size_t bank = 0; bank < sizes_.size(); ++bank)
      limits[bank] = sizes_[bank] > left_[bank] ? sizes_[bank] - left_[bank] : 0;
    TRY_STATUS(try_layout(limits));
    return std::move(*best_);
  }

 private:
  // Returns the bytes of each bank that some method uses.
  Result<Bytes> try_layout(const Bytes& limits) {
    State state = state_;
    move_state_to_banks(state, memory_, limits);
    BankCost cost;
    Bytes used(sizes_.size());
    for (const auto& method : program_.methods) {
      TRY(const FlatMethod flat, flatten(program_, *method));
      const Method& straight = flat.method != nullptr ? *flat.method : *method;
      TRY(const Placement placement, place_values(program_, straight, state, delegates_, memory_, options_));
      cost.excess += placement.cost.excess;
      cost.slow_traffic += placement.cost.slow_traffic;
      cost.bytes += placement.cost.bytes;
      for (std::size_t bank = 0; bank < used.size(); ++bank) {
        const std::uint32_t id = memory_.banks()[bank].memory_id;
        if (id < placement.memory_sizes.size()) used[bank] = std::max(used[bank], placement.memory_sizes[id]);
      }
    }
    if (!best_ || cost < cost_) {
      cost_ = cost;
      best_ = std::move(state);
    }
    return used;
  }

  const Program& program_;
  const DelegateIndex& delegates_;
  const MemoryMap& memory_;
  const WriteOptions& options_;
  const State& state_;
  Bytes sizes_;
  Bytes left_;  // used if all state lies in the last bank
  std::optional<State> best_;
  BankCost cost_;
};

}  // namespace

Status choose_state_banks(const Program& program, const DelegateIndex& delegates, const MemoryMap& memory,
                          const WriteOptions& options, State& state) {
  if (state.slots.empty()) return {};
  TRY(state, LayoutSearch(program, delegates, memory, options, state).run());
  return {};
}

}  // namespace depute
