#include "tools/report/repeats.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "depute/program/result.h"

namespace depute {

Repeats::Repeats(const Report& report) {
  std::unordered_map<Name, std::size_t> count;
  for (const DelegateReport& delegate : report.delegates)
    ++count[delegate.repeats.empty() ? delegate.name : delegate.repeats];
  for (const DelegateReport& delegate : report.delegates) {
    const Name first = delegate.repeats.empty() ? delegate.name : delegate.repeats;
    if (count[first] < min_folded_repeats) continue;
    const auto [found, is_new] = fold_of_.try_emplace(first, folds_.size());
    if (is_new) folds_.push_back({.first = first});
    fold_of_[delegate.name] = found->second;
    Fold& fold = folds_[found->second];
    fold.last = delegate.name;
    ++fold.times;
  }
}

const Repeats::Fold* Repeats::find(Name delegate) const {
  const auto found = fold_of_.find(delegate);
  return found == fold_of_.end() ? nullptr : &folds_[found->second];
}

Name Repeats::shown_as(Name delegate) const {
  const Fold* fold = find(delegate);
  return fold == nullptr ? delegate : fold->first;
}

std::size_t Repeats::times(Name delegate) const {
  const Fold* fold = find(delegate);
  return fold == nullptr ? 1 : fold->times;
}

Name Repeats::last(Name delegate) const {
  const Fold* fold = find(delegate);
  return fold == nullptr ? delegate : fold->last;
}

std::string Repeats::text() const {
  constexpr std::size_t most = 4;
  std::vector<Fold> sorted = folds_;
  std::ranges::stable_sort(sorted, std::ranges::greater(), &Fold::times);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
    text += fmt::format("{}{} x {}", i == 0 ? "" : ", ", printable(sorted[i].first.str()), sorted[i].times);
  if (sorted.size() > most) text += fmt::format(" and {} more", sorted.size() - most);
  return text;
}

std::vector<SplitRun> split_runs(const std::vector<Split>& pairs) {
  std::vector<SplitRun> runs;
  for (const Split& pair : pairs) {
    if (runs.empty() || runs.back().last != pair.first || runs.back().text != pair.text)
      runs.push_back({.first = pair.first, .text = pair.text});
    runs.back().last = pair.second;
    ++runs.back().pairs;
  }
  return runs;
}

namespace {

// Items in the drawing of one graph: undelegated nodes, and delegates.
class DrawnItems {
 public:
  DrawnItems(const Report& report, const PageGraph& graph, std::vector<std::size_t>& drawn)
      : report_(report), facts_(*report.page), graph_(graph), drawn_(drawn) {}

  // `is_placed`: delegates of graphs before this one.
  void fold(const std::unordered_map<Name, std::size_t>& number_of, std::vector<bool>& is_placed) {
    find_items(number_of, is_placed);
    std::map<std::size_t, std::vector<std::size_t>> sets;  // by the delegate that they repeat: items
    for (std::size_t item = 0; item < delegate_of_.size(); ++item) {
      if (delegate_of_[item] == none) continue;
      const DelegateReport& delegate = report_.delegates[delegate_of_[item]];
      sets[number_of.at(delegate.repeats.empty() ? delegate.name : delegate.repeats)].push_back(item);
    }
    for (const auto& [first, items] : sets) {
      if (items.size() >= min_folded_repeats) fold_set(items);
    }
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  // Looks through the graph at most so often: each set may need another look.
  static constexpr std::size_t max_passes = 32;

  void find_items(const std::unordered_map<Name, std::size_t>& number_of, std::vector<bool>& is_placed) {
    std::unordered_map<std::size_t, std::size_t> item_of_delegate;
    std::vector<std::size_t> item_of(graph_.node_count);
    for (std::size_t i = 0; i < graph_.node_count; ++i) {
      const auto delegate = number_of.find(report_.nodes[graph_.first_node + i].delegate);
      const bool is_here = delegate != number_of.end() && !is_placed[delegate->second];
      const std::size_t number = is_here ? delegate->second : none;
      item_of[i] = delegate_of_.size();
      if (number != none) item_of[i] = item_of_delegate.try_emplace(number, item_of[i]).first->second;
      if (item_of[i] == delegate_of_.size()) delegate_of_.push_back(number);
    }
    for (const auto& [number, item] : item_of_delegate) is_placed[number] = true;
    users_.resize(delegate_of_.size());
    for (std::size_t i = 0; i < graph_.node_count; ++i) {
      for (const PageValue& value : facts_.nodes[graph_.first_node + i].inputs) {
        if (value.node < 0) continue;
        const std::size_t from = item_of[static_cast<std::size_t>(value.node) - graph_.first_node];
        if (from != item_of[i]) users_[from].push_back(item_of[i]);
        budget_ += max_passes;
      }
    }
    for (std::size_t item = 0; item < users_.size(); ++item) members_.push_back({item});
    box_ = std::vector<std::size_t>(users_.size());
    for (std::size_t item = 0; item < users_.size(); ++item) box_[item] = item;
  }

  void fold_set(const std::vector<std::size_t>& items) {
    if (comes_back(items)) return;
    for (std::size_t item : items) {
      box_[item] = items[0];
      drawn_[delegate_of_[item]] = delegate_of_[items[0]];
    }
    members_[items[0]] = items;
  }

  // True if a path from one of the items to one of them passes something else.
  bool comes_back(const std::vector<std::size_t>& items) {
    const std::unordered_set<std::size_t> inside(items.begin(), items.end());
    std::unordered_set<std::size_t> seen;
    std::vector<std::size_t> pending;
    const auto go_on_from = [&](std::size_t item) {
      for (std::size_t user : users_[item]) {
        budget_ -= std::min<std::size_t>(budget_, 1);
        if (!inside.contains(user) && seen.insert(box_[user]).second) pending.push_back(box_[user]);
      }
    };
    for (std::size_t item : items) go_on_from(item);
    while (!pending.empty() && budget_ > 0) {
      const std::size_t box = pending.back();
      pending.pop_back();
      for (std::size_t item : members_[box]) {
        if (std::ranges::any_of(users_[item], [&](std::size_t user) { return inside.contains(user); }))
          return true;
        go_on_from(item);
      }
    }
    return !pending.empty();
  }

  const Report& report_;
  const PageFacts& facts_;
  const PageGraph& graph_;
  std::vector<std::size_t>& drawn_;
  std::vector<std::size_t> delegate_of_;           // of an item, or none
  std::vector<std::vector<std::size_t>> users_;    // of an item
  std::vector<std::size_t> box_;                   // of an item: the first item of its box
  std::vector<std::vector<std::size_t>> members_;  // of a box
  std::size_t budget_ = 0;                         // edges to look at
};

}  // namespace

std::vector<std::size_t> drawn_repeats(const Report& report) {
  std::vector<std::size_t> drawn(report.delegates.size());
  std::unordered_map<Name, std::size_t> number_of;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    drawn[i] = i;
    number_of.emplace(report.delegates[i].name, i);
  }
  // Bodies that went along with a node are behind the graph of the node.
  std::vector<bool> is_placed(drawn.size());
  for (const PageGraph& graph : report.page->graphs)
    DrawnItems(report, graph, drawn).fold(number_of, is_placed);
  return drawn;
}

}  // namespace depute
