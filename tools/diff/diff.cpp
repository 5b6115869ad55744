// Compares two lowerings: see diff.h.
//
//   before  %relu xnnpack0     after  %relu portable, xnnpack: pin
//     ->  moved {%relu: xnnpack -> portable}, delegates {xnnpack0: 3 nodes -> xnnpack0 2, portable 1}
#include "tools/diff/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "tools/report/undelegated.h"
#include "tools/size/weight_names.h"

namespace depute {
namespace {

constexpr std::size_t no_partner = ~std::size_t{0};

using NodeIdentity = std::string (*)(const NodeReport& node);

std::string place_key(const NodeReport& node) {
  return fmt::format("{}\n{}\n{}", node.method.str(), node.graph.str(), node.op.str());
}
std::string by_all(const NodeReport& node) {
  return fmt::format("{}\n{}\n{}", place_key(node), node.node.str(), node.source.str());
}
std::string by_line(const NodeReport& node) {
  return fmt::format("{}\n{}", place_key(node), node.source.str());
}
std::string by_name(const NodeReport& node) {
  return fmt::format("{}\n{}", place_key(node), node.node.str());
}

// Pairs nodes of `before` with nodes of `after`, each at most once.
class NodePairs {
 public:
  NodePairs(const std::vector<NodeReport>& before, const std::vector<NodeReport>& after)
      : before_(before), after_(after), partners_(before.size(), no_partner), is_taken_(after.size()) {
    for (NodeIdentity identity : {&by_all, &by_line, &by_name}) pair_by(identity);
  }

  std::size_t partner(std::size_t before) const { return partners_[before]; }
  bool is_taken(std::size_t after) const { return is_taken_[after]; }

 private:
  void pair_by(NodeIdentity identity) {
    std::map<std::string, std::deque<std::size_t>> open;
    for (std::size_t i = 0; i < after_.size(); ++i) {
      if (!is_taken_[i]) open[identity(after_[i])].push_back(i);
    }
    if (open.empty()) return;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (partners_[i] != no_partner) continue;
      const auto found = open.find(identity(before_[i]));
      if (found == open.end() || found->second.empty()) continue;
      partners_[i] = found->second.front();
      is_taken_[partners_[i]] = true;
      found->second.pop_front();
    }
  }

  const std::vector<NodeReport>& before_;
  const std::vector<NodeReport>& after_;
  std::vector<std::size_t> partners_;
  std::vector<bool> is_taken_;
};

// Returns the node's delegate, or its owner if the node is undelegated.
std::string place_of(const NodeReport& node) {
  return is_delegated(node) ? std::string(node.delegate.str()) : node.owner;
}

// Counts nodes by their places in both lowerings; "" if only the other lowering has the node.
class DelegateFlow {
 public:
  void add(const NodeReport* before, const NodeReport* after) {
    const std::string from = before == nullptr ? "" : place_of(*before);
    const std::string to = after == nullptr ? "" : place_of(*after);
    if (before != nullptr && is_delegated(*before)) ++went_[from][to];
    if (after != nullptr && is_delegated(*after)) ++came_[to][from];
  }

  // A delegate did not change if its nodes are still together, with no others.
  std::vector<DiffDelegate> changed() const {
    std::vector<DiffDelegate> delegates;
    std::set<std::string> told;
    for (const auto& [name, parts] : went_) {
      for (const auto& [to, count] : parts) told.insert(to);
      if (!is_kept(name)) delegates.push_back(delegate_of(name, false, parts));
    }
    for (const auto& [name, parts] : came_) {
      if (!told.contains(name)) delegates.push_back(delegate_of(name, true, parts));
    }
    return delegates;
  }

 private:
  using Parts = std::map<std::string, std::uint64_t>;

  bool is_kept(const std::string& before) const {
    const Parts& parts = went_.at(before);
    if (parts.size() != 1) return false;
    const auto came = came_.find(parts.begin()->first);
    return came != came_.end() && came->second.size() == 1;
  }

  static DiffDelegate delegate_of(const std::string& name, bool is_new, const Parts& parts) {
    DiffDelegate delegate{.name = name, .is_new = is_new};
    for (const auto& [place, count] : parts) {
      delegate.nodes += count;
      delegate.parts.emplace_back(place, count);
    }
    std::ranges::stable_sort(delegate.parts, std::ranges::greater(),
                             &std::pair<std::string, std::uint64_t>::second);
    return delegate;
  }

  std::map<std::string, Parts> went_;
  std::map<std::string, Parts> came_;
};

void compare_nodes(const Report& before, const Report& after, LoweringDiff& diff) {
  const NodePairs pairs(before.nodes, after.nodes);
  DelegateFlow flow;
  for (std::size_t i = 0; i < before.nodes.size(); ++i) {
    const NodeReport& node = before.nodes[i];
    if (pairs.partner(i) == no_partner) {
      diff.only_before.push_back(node);
      flow.add(&node, nullptr);
      continue;
    }
    const NodeReport& partner = after.nodes[pairs.partner(i)];
    flow.add(&node, &partner);
    if (node.owner != partner.owner) {
      diff.moved.push_back({node, partner});
    } else if (!is_delegated(node) && reasons_text(node) != reasons_text(partner)) {
      diff.other_reason.push_back({node, partner});
    }
  }
  for (std::size_t i = 0; i < after.nodes.size(); ++i) {
    if (pairs.is_taken(i)) continue;
    diff.only_after.push_back(after.nodes[i]);
    flow.add(nullptr, &after.nodes[i]);
  }
  diff.delegates = flow.changed();
}

void compare_totals(const Report& before, const Report& after, LoweringDiff& diff) {
  auto add = [&](const char* name, auto a, auto b) {
    diff.figures.push_back({.name = name, .before = static_cast<double>(a), .after = static_cast<double>(b)});
  };
  add("coverage", before.coverage(), after.coverage());
  diff.figures.back().is_percent = true;
  add("delegates", before.delegates.size(), after.delegates.size());
  add("nodes", before.nodes.size(), after.nodes.size());
  add("delegated nodes", before.delegated_nodes(), after.delegated_nodes());
}

// Visits each key of either map with its value in both; 0 if a map lacks it.
template <typename Value, typename Visit>
void for_each_key(const std::map<std::string, Value>& before, const std::map<std::string, Value>& after,
                  const Visit& visit) {
  std::set<std::string> keys;
  for (const auto& [key, value] : before) keys.insert(key);
  for (const auto& [key, value] : after) keys.insert(key);
  auto value_of = [](const std::map<std::string, Value>& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? Value() : found->second;
  };
  for (const std::string& key : keys) visit(key, value_of(before, key), value_of(after, key));
}

void compare_methods(const FileFacts& before, const FileFacts& after, LoweringDiff& diff) {
  for_each_key(before.methods, after.methods,
               [&](const std::string& method, const MethodFacts& a, const MethodFacts& b) {
                 diff.figures.push_back({.name = "planned memory of " + method,
                                         .before = static_cast<double>(a.memory),
                                         .after = static_cast<double>(b.memory)});
                 for_each_key(a.calls, b.calls,
                              [&](const std::string& callee, std::uint64_t one, std::uint64_t two) {
                                if (one != two) diff.calls.push_back({method, callee, one, two});
                              });
               });
}

void compare_sizes(const FileFacts& before, const FileFacts& after, LoweringDiff& diff) {
  diff.figures.push_back({.name = "bytes of the file",
                          .before = static_cast<double>(before.bytes),
                          .after = static_cast<double>(after.bytes)});
  for_each_key(before.bytes_of_kinds, after.bytes_of_kinds,
               [&](const std::string& kind, std::uint64_t a, std::uint64_t b) {
                 if (a == b) return;
                 diff.figures.push_back({.name = "bytes of the file: " + kind,
                                         .before = static_cast<double>(a),
                                         .after = static_cast<double>(b)});
               });
}

// Removes elements with equal keys from both lists and keeps the order of the others.
template <typename T, typename Same>
void drop_common(std::vector<T>& before, std::vector<T>& after, const Same& key_of) {
  std::multiset<decltype(key_of(before[0]))> left;
  for (const T& each : after) left.insert(key_of(each));
  std::multiset<decltype(key_of(before[0]))> common;
  std::erase_if(before, [&](const T& each) {
    const auto found = left.find(key_of(each));
    if (found == left.end()) return false;
    common.insert(*found);
    left.erase(found);
    return true;
  });
  std::erase_if(after, [&](const T& each) {
    const auto found = common.find(key_of(each));
    if (found == common.end()) return false;
    common.erase(found);
    return true;
  });
}

// Pairs the remaining elements by key and passes pairs to `visit`; a missing partner is null.
template <typename T, typename Key, typename Visit>
void pair_rest(const std::vector<T>& before, const std::vector<T>& after, const Key& key_of,
               const Visit& visit) {
  std::multimap<decltype(key_of(before[0])), const T*> open;
  for (const T& each : after) open.emplace(key_of(each), &each);
  std::set<const T*> paired;
  for (const T& each : before) {
    const auto found = open.find(key_of(each));
    visit(&each, found == open.end() ? nullptr : found->second);
    if (found == open.end()) continue;
    paired.insert(found->second);
    open.erase(found);
  }
  for (const T& each : after) {
    if (!paired.contains(&each)) visit(static_cast<const T*>(nullptr), &each);
  }
}

DiffChange change_of(const void* before, const void* after) {
  if (before == nullptr) return DiffChange::OnlyAfter;
  return after == nullptr ? DiffChange::OnlyBefore : DiffChange::Changed;
}

void compare_weights(std::vector<WeightFacts> before, std::vector<WeightFacts> after, LoweringDiff& diff) {
  drop_common(before, after,
              [](const WeightFacts& weight) { return std::pair(weight.name, weight.content); });
  // A weight whose name alone differs has not changed: names may come from the numbers of values.
  drop_common(before, after, [](const WeightFacts& weight) { return weight.content; });
  auto name_of = [](const WeightFacts& weight) { return weight.name; };
  pair_rest(before, after, name_of, [&](const WeightFacts* a, const WeightFacts* b) {
    diff.weights.push_back({.change = change_of(a, b),
                            .name = (a != nullptr ? a : b)->name,
                            .bytes_before = a == nullptr ? 0 : a->bytes,
                            .bytes_after = b == nullptr ? 0 : b->bytes});
  });
}

void compare_payloads(std::vector<PayloadFacts> before, std::vector<PayloadFacts> after, LoweringDiff& diff) {
  auto place = [](const PayloadFacts& payload) { return std::pair(payload.method, payload.backend_id); };
  drop_common(before, after,
              [&](const PayloadFacts& payload) { return std::pair(place(payload), payload.content); });
  pair_rest(before, after, place, [&](const PayloadFacts* a, const PayloadFacts* b) {
    const PayloadFacts& one = a != nullptr ? *a : *b;
    diff.payloads.push_back({.change = change_of(a, b),
                             .method = one.method,
                             .backend_id = one.backend_id,
                             .bytes_before = a == nullptr ? 0 : a->bytes,
                             .bytes_after = b == nullptr ? 0 : b->bytes});
  });
}

// Returns true if both lowerings have the data. Otherwise records that they are not compared.
bool both_have(bool before, bool after, std::string_view what, LoweringDiff& diff) {
  if (before && after) return true;
  const std::string& without = before ? diff.after : diff.before;
  diff.not_compared.push_back(before || after ? fmt::format("{}: {} does not tell them", what, without)
                                              : fmt::format("{}: neither tells them", what));
  return false;
}

}  // namespace

bool LoweringDiff::is_same() const {
  return moved.empty() && other_reason.empty() && only_before.empty() && only_after.empty() &&
         delegates.empty() && calls.empty() && payloads.empty() && weights.empty() &&
         std::ranges::all_of(figures, &DiffFigure::is_same);
}

LoweringDiff compare(const LoweringFacts& before, const LoweringFacts& after) {
  LoweringDiff diff{.before = before.name, .after = after.name};
  if (both_have(before.report.has_value(), after.report.has_value(), "nodes and delegates", diff)) {
    diff.names = before.report->names.copy();
    diff.names.keep(after.report->names);
    compare_totals(*before.report, *after.report, diff);
    compare_nodes(*before.report, *after.report, diff);
  }
  const bool have_files = before.file && after.file;
  if (both_have(before.file.has_value(), after.file.has_value(), "bytes, memory, instructions and payloads",
                diff)) {
    compare_sizes(*before.file, *after.file, diff);
    compare_methods(*before.file, *after.file, diff);
    compare_payloads(before.file->payloads, after.file->payloads, diff);
  }
  // Prefers the model's weights, which have the model's names. A file's weights are packed by delegates.
  if (before.weights && after.weights) {
    compare_weights(*before.weights, *after.weights, diff);
  } else if (have_files) {
    compare_weights(before.file->weights, after.file->weights, diff);
  } else {
    diff.not_compared.emplace_back("weights: they are in programs, not in reports");
  }
  return diff;
}

std::vector<DiffLayer> changed_layers(const std::vector<DiffWeight>& weights) {
  std::map<std::string, DiffLayer> by_name;
  for (const DiffWeight& weight : weights) {
    DiffLayer& layer = by_name[layer_name(weight.name)];
    ++layer.weights;
    layer.bytes_before += weight.bytes_before;
    layer.bytes_after += weight.bytes_after;
  }
  std::vector<DiffLayer> layers;
  for (auto& [name, layer] : by_name) {
    layer.name = name;
    layers.push_back(std::move(layer));
  }
  std::ranges::stable_sort(layers, std::ranges::greater(), [](const DiffLayer& layer) {
    return std::max(layer.bytes_before, layer.bytes_after);
  });
  return layers;
}

std::string why_moved(const DiffNode& node) {
  if (!is_delegated(node.after)) return reasons_text(node.after);
  return is_delegated(node.before) ? "" : "before: " + reasons_text(node.before);
}

std::string_view name(DiffChange change) {
  switch (change) {
    case DiffChange::Changed:
      return "changed";
    case DiffChange::OnlyBefore:
      return "only-before";
    case DiffChange::OnlyAfter:
      return "only-after";
  }
  return {};
}

}  // namespace depute
