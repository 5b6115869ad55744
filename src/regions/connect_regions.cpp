#include "regions/connect_regions.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "regions/disjoint_sets.h"
#include "regions/settle_regions.h"

namespace depute {
namespace {

constexpr std::uint32_t no_atom = 0xFFFFFFFF;
constexpr std::size_t search_budget = 256;  // maximum number of edges looked at for one contraction
// If more searches fail than this plus one in 64 edges, the first attempt is abandoned.
constexpr std::size_t many_given_up = 1024;

// The edges between sets, seen from one end. Each set has a linked list of its atoms with outer edges, so
// joining is O(1). Inner edges stay inner, so leading ones are skipped permanently, and atoms with inner
// edges only are dropped.
class OuterEdges {
 public:
  OuterEdges(const Csr& edges, DisjointSets& sets)
      : edges_(edges),
        sets_(sets),
        first_(edges.size()),
        last_(edges.size()),
        next_(edges.size(), no_atom),
        skip_(edges.size(), 0) {
    std::iota(first_.begin(), first_.end(), 0U);
    std::iota(last_.begin(), last_.end(), 0U);
  }

  void join(std::uint32_t into, std::uint32_t from) {
    if (first_[from] == no_atom) return;
    if (first_[into] == no_atom) {
      first_[into] = first_[from];
    } else {
      next_[last_[into]] = first_[from];
    }
    last_[into] = last_[from];
  }

  // Calls visit(neighbor) for the edges of `set` until it returns false. A few inner edges may be included.
  template <typename Visit>
  bool for_each(std::uint32_t set, Visit visit) {
    std::uint32_t previous = no_atom;
    for (std::uint32_t atom = first_[set]; atom != no_atom; atom = next_[atom]) {
      const std::span<const std::uint32_t> row = edges_[atom];
      std::uint32_t& skip = skip_[atom];
      while (skip < row.size() && sets_.find(row[skip]) == set) ++skip;
      if (skip == row.size()) {
        (previous == no_atom ? first_[set] : next_[previous]) = next_[atom];
        if (last_[set] == atom) last_[set] = previous;
        continue;
      }
      previous = atom;
      for (std::uint32_t other : row.subspan(skip)) {
        if (!visit(sets_.find(other))) return false;
      }
    }
    return true;
  }

 private:
  const Csr& edges_;
  DisjointSets& sets_;
  std::vector<std::uint32_t> first_;  // per set
  std::vector<std::uint32_t> last_;
  std::vector<std::uint32_t> next_;  // per atom
  std::vector<std::uint32_t> skip_;  // per atom: leading inner edges
};

enum class Search { Clear, PathFound, OverBudget };

class Contraction {
 public:
  explicit Contraction(const AtomGraph& graph)
      : graph_(graph),
        sets_(graph.size()),
        readers_(graph.succs, sets_),
        sources_(graph.preds, sets_),
        rank_(graph.size()),
        seen_(graph.size(), 0) {
    std::iota(rank_.begin(), rank_.end(), 0U);
  }

  // Starts from the connected pieces of a labeling, ranked by label.
  void start_from(std::span<const std::int32_t> label) {
    for (std::uint32_t atom = 0; atom < graph_.size(); ++atom) {
      if (!placeable(atom) || (label[atom] & 1) != 0) continue;
      for (std::uint32_t pred : graph_.preds[atom]) {
        if (placeable(pred) && label[pred] == label[atom]) unite(sets_.find(pred), sets_.find(atom));
      }
    }
    // Labels start at -1, hence the 1.
    const auto level = [&](std::uint32_t atom) { return static_cast<std::uint32_t>(label[atom] + 1); };
    std::vector<std::uint32_t> next_rank(graph_.size() + 3, 0);
    for (std::uint32_t atom = 0; atom < graph_.size(); ++atom) ++next_rank[level(atom) + 1];
    std::partial_sum(next_rank.begin(), next_rank.end(), next_rank.begin());
    for (std::uint32_t atom = 0; atom < graph_.size(); ++atom) rank_[atom] = next_rank[level(atom)]++;
  }

  // Stops early if more than `patience` searches exceed their budget.
  void contract_edges(std::size_t patience) {
    for (std::uint32_t reader = graph_.size(); reader-- > 0 && given_up_ <= patience;) {
      if (!placeable(reader)) continue;
      for (std::uint32_t source : graph_.preds[reader]) {
        if (placeable(source)) contract(sets_.find(source), sets_.find(reader));
      }
    }
  }

  std::size_t given_up() const { return given_up_; }

  std::uint32_t region_count() {
    std::vector<std::uint8_t> filled(graph_.size(), 0);
    for (std::uint32_t atom = 0; atom < graph_.size(); ++atom) {
      if (graph_.support[atom] == Support::Supported) filled[sets_.find(atom)] = 1;
    }
    return static_cast<std::uint32_t>(std::ranges::count(filled, 1));
  }

  AtomRegions result() {
    AtomRegions regions;
    regions.region.resize(graph_.size());
    regions.order.resize(graph_.size());
    for (std::uint32_t atom = 0; atom < graph_.size(); ++atom) {
      const std::uint32_t set = sets_.find(atom);
      regions.region[atom] = placeable(atom) ? set : no_region;
      regions.order[atom] = rank_[set];
    }
    return regions;
  }

 private:
  bool placeable(std::uint32_t atom) const { return graph_.support[atom] != Support::Unsupported; }

  std::uint32_t unite(std::uint32_t a, std::uint32_t b) {
    if (a == b) return a;
    const std::uint32_t into = sets_.join(a, b);
    const std::uint32_t from = into == a ? b : a;
    readers_.join(into, from);
    sources_.join(into, from);
    return into;
  }

  void contract(std::uint32_t source, std::uint32_t reader) {
    if (source == reader) return;
    ++stamp_;
    edges_left_ = search_budget;
    after_.clear();
    before_.clear();
    const std::uint32_t low = rank_[source];
    const std::uint32_t high = rank_[reader];
    Search found = search(readers_, source, reader, after_, [&](std::uint32_t rank) { return rank < high; });
    if (found == Search::Clear && !after_.empty()) {
      found = search(sources_, reader, source, before_, [&](std::uint32_t rank) { return rank > low; });
    }
    given_up_ += found == Search::OverBudget;
    if (found != Search::Clear) return;
    const std::uint32_t joined = unite(source, reader);
    if (after_.empty()) {
      rank_[joined] = high;  // no other reader of the source comes before the reader
    } else {
      reorder(joined, low, high);
    }
  }

  // Collects the sets between `from` and `target` that `from` reaches, without direct edges.
  template <typename Between>
  Search search(OuterEdges& edges, std::uint32_t from, std::uint32_t target,
                std::vector<std::uint32_t>& reached, Between between) {
    Search found = Search::Clear;
    std::uint32_t set = from;
    const auto visit = [&](std::uint32_t next) {
      if (edges_left_ == 0) found = Search::OverBudget;
      if (next == target && set != from) found = Search::PathFound;
      if (found != Search::Clear) return false;
      --edges_left_;
      if (next == target || next == set || seen_[next] == stamp_ || !between(rank_[next])) return true;
      seen_[next] = stamp_;
      reached.push_back(next);
      return true;
    };
    if (!edges.for_each(set, visit)) return found;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      set = reached[i];
      if (!edges.for_each(set, visit)) return found;
    }
    return Search::Clear;
  }

  // Redistributes the ranks in use: first the sets that the reader needs, then the joined set, then readers
  // of the source.
  void reorder(std::uint32_t joined, std::uint32_t low, std::uint32_t high) {
    const auto by_rank = [&](std::uint32_t a, std::uint32_t b) { return rank_[a] < rank_[b]; };
    std::ranges::sort(before_, by_rank);
    std::ranges::sort(after_, by_rank);
    ranks_.assign({low, high});
    for (std::uint32_t set : before_) ranks_.push_back(rank_[set]);
    for (std::uint32_t set : after_) ranks_.push_back(rank_[set]);
    std::ranges::sort(ranks_);
    for (std::size_t i = 0; i < before_.size(); ++i) rank_[before_[i]] = ranks_[i];
    rank_[joined] = ranks_[before_.size()];
    for (std::size_t i = 0; i < after_.size(); ++i) rank_[after_[i]] = ranks_[before_.size() + 2 + i];
  }

  const AtomGraph& graph_;
  DisjointSets sets_;
  OuterEdges readers_;
  OuterEdges sources_;
  std::vector<std::uint32_t> rank_;  // by name of the set
  std::vector<std::uint32_t> seen_;  // stamp of the last search that reached the set
  std::uint32_t stamp_ = 0;
  std::size_t edges_left_ = 0;
  std::size_t given_up_ = 0;
  std::vector<std::uint32_t> after_;   // sets between the ends that depend on the source
  std::vector<std::uint32_t> before_;  // sets between the ends that the reader depends on
  std::vector<std::uint32_t> ranks_;
};

}  // namespace

AtomRegions connect_regions(const AtomGraph& graph, const LabelRange& range) {
  const std::size_t patience = many_given_up + graph.preds.items.size() / 64;
  Contraction plain(graph);
  plain.contract_edges(patience);
  if (plain.given_up() == 0) return plain.result();

  Contraction seeded(graph);
  seeded.start_from(settle_regions(graph, range));
  seeded.contract_edges(std::numeric_limits<std::size_t>::max());
  const bool plain_is_better = plain.given_up() <= patience && plain.region_count() <= seeded.region_count();
  return plain_is_better ? plain.result() : seeded.result();
}

}  // namespace depute
