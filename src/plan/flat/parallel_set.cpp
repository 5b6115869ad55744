#include "plan/flat/parallel_set.h"

#include <unordered_map>

#include "plan/memory/views.h"

namespace depute {
namespace {

class Sequencer {
 public:
  explicit Sequencer(std::span<const VariableUpdate> updates) : updates_(updates), readers_(updates.size()) {
    std::unordered_map<const Value*, std::size_t> update_of;
    for (std::size_t i = 0; i < updates.size(); ++i) update_of.emplace(updates[i].variable, i);
    for (std::size_t i = 0; i < updates.size(); ++i) {
      reads_.push_back(none);
      if (!updates[i].content.is_value()) continue;
      auto read = update_of.find(&root_of(*updates[i].content.as_value()));
      if (read == update_of.end()) continue;
      reads_[i] = read->second;
      readers_[read->second].push_back(i);
    }
    pending_readers_.reserve(updates.size());
    for (const auto& readers : readers_) pending_readers_.push_back(readers.size());
    is_done_.resize(updates.size());
  }

  std::vector<ParallelStep> run() {
    for (std::size_t i = 0; i < updates_.size(); ++i) {
      if (pending_readers_[i] == 0) set_from(i);
    }
    // The remaining updates form cycles. A copy breaks each cycle.
    for (std::size_t i = 0; i < updates_.size(); ++i) {
      if (is_done_[i]) continue;
      for (std::size_t reader : readers_[i]) {
        if (is_done_[reader]) continue;
        steps_.push_back({ParallelStep::Kind::Copy, reader});
        reads_[reader] = none;
      }
      set_from(i);
    }
    return std::move(steps_);
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  // Sets this variable, then each variable that thereby loses its last reader.
  void set_from(std::size_t i) {
    while (i != none && !is_done_[i]) {
      steps_.push_back({ParallelStep::Kind::Set, i});
      is_done_[i] = true;
      std::size_t read = reads_[i];
      bool is_free = read != none && --pending_readers_[read] == 0;
      i = is_free ? read : none;
    }
  }

  std::span<const VariableUpdate> updates_;
  std::vector<std::size_t> reads_;                 // update whose variable holds the content
  std::vector<std::vector<std::size_t>> readers_;  // inverse of reads_
  std::vector<std::size_t> pending_readers_;
  std::vector<bool> is_done_;
  std::vector<ParallelStep> steps_;
};

}  // namespace

std::vector<ParallelStep> parallel_set(std::span<const VariableUpdate> updates) {
  return Sequencer(updates).run();
}

}  // namespace depute
