#include "regions/settle_regions.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace depute {
namespace {

// Maximum number of readers checked to learn whether a region already imports a value.
constexpr std::uint32_t max_siblings = 16;
constexpr int rounds = 2;
// Graphs with fewer movable atoms are settled from both the earliest and the latest labels. Larger graphs
// start from the better one.
constexpr std::size_t both_starts = 8192;

enum class Sweep { TowardsInputs, TowardsOutputs };

bool in_region(std::int32_t label) {
  return (label & 1) == 0;
}

// The labels that an atom may have if all regions have one owner.
class ParityLabels {
 public:
  explicit ParityLabels(const AtomGraph& graph) : graph_(graph) {}
  std::int32_t at_least(std::uint32_t atom, std::int32_t label) const { return label + gap(atom, label); }
  std::int32_t at_most(std::uint32_t atom, std::int32_t label) const { return label - gap(atom, label); }

 private:
  std::int32_t gap(std::uint32_t atom, std::int32_t label) const {
    if (graph_.support[atom] == Support::Neutral) return 0;
    return (label ^ (graph_.support[atom] == Support::Unsupported ? 1 : 0)) & 1;
  }

  const AtomGraph& graph_;
};

template <typename Labels>
class Settler {
 public:
  Settler(const AtomGraph& graph, const LabelRange& range, const Labels& labels)
      : graph_(graph), range_(range), labels_(labels) {
    for (std::uint32_t atom = 0; atom < graph.size(); ++atom) {
      if (range.earliest[atom] != range.latest[atom]) movable_.push_back(atom);
    }
  }

  std::vector<std::int32_t> run() {
    if (movable_.empty()) return range_.latest;
    seen_.assign(static_cast<std::size_t>(range_.last) / 2 + 1, std::numeric_limits<std::uint32_t>::max());
    best_ = range_.latest;
    best_border_ = border(best_);
    const std::uint64_t earliest_border = border(range_.earliest);
    const bool earliest_first = earliest_border < best_border_;
    if (earliest_first) {
      best_ = range_.earliest;
      best_border_ = earliest_border;
    }
    settle(earliest_first ? range_.earliest : range_.latest);
    if (movable_.size() < both_starts) settle(earliest_first ? range_.latest : range_.earliest);
    return std::move(best_);
  }

 private:
  void settle(const std::vector<std::int32_t>& start) {
    label_ = start;
    std::uint64_t previous = std::numeric_limits<std::uint64_t>::max();
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = movable_.size(); i-- > 0;) move(movable_[i], Sweep::TowardsInputs);
      for (std::uint32_t atom : movable_) move(atom, Sweep::TowardsOutputs);
      const std::uint64_t now = border(label_);
      if (now < best_border_) {
        best_ = label_;
        best_border_ = now;
      }
      if (now >= previous) break;
      previous = now;
    }
  }

  // Atoms without a preference follow the neighbors that this sweep has just moved.
  void move(std::uint32_t atom, Sweep sweep) {
    std::int32_t low = -1;
    for (std::uint32_t pred : graph_.preds[atom]) low = std::max(low, label_[pred]);
    std::int32_t high = range_.last + 1;
    for (std::uint32_t succ : graph_.succs[atom]) high = std::min(high, label_[succ]);
    low = labels_.at_least(atom, low);
    high = labels_.at_most(atom, high);
    if (low == high) return;
    const std::int32_t free_end = sweep == Sweep::TowardsInputs ? high : low;
    const std::int64_t gain =
        graph_.support[atom] == Support::Unsupported ? 0 : cost_difference(atom, low, high);
    label_[atom] = gain < 0 ? high : gain > 0 ? low : free_end;
  }

  // Growth of the border if `atom` moves from label `low` to `high`, the ends of its window.
  std::int64_t cost_difference(std::uint32_t atom, std::int32_t low, std::int32_t high) const {
    const bool low_in = in_region(low);
    const bool high_in = in_region(high);
    bool reader_at_high = false;
    bool reader_elsewhere = graph_.returned[atom] != 0;
    for (std::uint32_t succ : graph_.succs[atom]) {
      (label_[succ] == high ? reader_at_high : reader_elsewhere) = true;
    }
    int own = 0;
    own -= low_in && (reader_at_high || reader_elsewhere);  // at `low` every reader is outside
    own += high_in && reader_elsewhere;
    own -= high_in && reader_at_high;  // the region at `high` need not import it
    std::int64_t difference = own * static_cast<std::int64_t>(graph_.weight_of(atom));

    for (std::uint32_t pred : graph_.preds[atom]) {
      bool sibling_at_low = false;
      bool sibling_at_high = false;
      bool pred_leaves_low = graph_.returned[pred] != 0;
      std::uint32_t looked_at = 0;
      for (std::uint32_t sibling : graph_.succs[pred]) {
        if (sibling == atom) continue;
        if (++looked_at > max_siblings) break;
        sibling_at_low |= label_[sibling] == low;
        sibling_at_high |= label_[sibling] == high;
        pred_leaves_low |= label_[sibling] != low;
      }
      int change = high_in && !sibling_at_high;
      if (!low_in || label_[pred] != low) {
        change -= low_in && !sibling_at_low;
      } else {
        change += !pred_leaves_low;
      }
      difference += change * static_cast<std::int64_t>(graph_.weight_of(pred));
    }
    return difference;
  }

  std::uint64_t border(const std::vector<std::int32_t>& label) {
    std::ranges::fill(seen_, std::numeric_limits<std::uint32_t>::max());
    std::uint64_t total = 0;
    for (std::uint32_t atom = 0; atom < graph_.size(); ++atom) {
      const bool inside = in_region(label[atom]);
      bool leaves = inside && graph_.returned[atom] != 0;
      std::uint64_t crossings = 0;
      for (std::uint32_t succ : graph_.succs[atom]) {
        if (inside && label[succ] == label[atom]) continue;
        leaves |= inside;
        if (!in_region(label[succ])) continue;
        std::uint32_t& seen = seen_[static_cast<std::size_t>(label[succ]) / 2];
        crossings += seen != atom;
        seen = atom;
      }
      total += (crossings + leaves) * graph_.weight_of(atom);
    }
    return total;
  }

  const AtomGraph& graph_;
  const LabelRange& range_;
  const Labels& labels_;
  std::vector<std::uint32_t> movable_;  // atoms whose label is not forced
  std::vector<std::int32_t> label_;
  std::vector<std::int32_t> best_;
  std::uint64_t best_border_ = 0;
  std::vector<std::uint32_t> seen_;  // by region: the last value found to enter it
};

}  // namespace

std::vector<std::int32_t> settle_regions(const AtomGraph& graph, const LabelRange& range) {
  return Settler(graph, range, ParityLabels(graph)).run();
}

std::vector<std::int32_t> settle_regions(const AtomGraph& graph, const LabelRange& range,
                                         const OwnerLabels& labels) {
  return Settler(graph, range, labels).run();
}

}  // namespace depute
