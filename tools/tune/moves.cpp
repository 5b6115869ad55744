#include "tools/tune/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace depute {
namespace {

// All orders of more backends would be too many.
constexpr std::size_t max_permuted = 3;
// The part of all multiplications that is worth trying outside of any backend.
constexpr double max_undelegated_macs = 0.05;

// The only option that may be given several times.
constexpr std::string_view off_key = "off";

using Backends = std::vector<BackendRequest>;

// The backends of each subset, all at once.
std::vector<Backends> subsets(const Backends& all) {
  std::vector<Backends> found;
  for (std::size_t bits = (std::size_t{1} << all.size()) - 1; bits > 0; --bits) {
    Backends& subset = found.emplace_back();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((bits >> i & 1U) != 0) subset.push_back(all[i]);
    }
  }
  return found;
}

std::vector<Backends> orders(const Backends& backends) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < backends.size(); ++i) order.push_back(i);
  std::vector<Backends> found;
  do {
    Backends& ordered = found.emplace_back();
    for (const std::size_t i : order) ordered.push_back(backends[i]);
  } while (std::ranges::next_permutation(order).found);
  return found;
}

// "layers.3.mlp" -> "layers.*.mlp"
std::string with_numbers_open(std::string_view path) {
  std::string open;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('.'));
    const bool is_number = part.find_first_not_of("0123456789") == part.npos;
    open += fmt::format("{}{}", open.empty() ? "" : ".", is_number ? "*" : part);
    path.remove_prefix(std::min(part.size() + 1, path.size()));
  }
  return open;
}

// Calls visit() with a module and all modules around it: "a.b.c", "a.b", "a".
void for_each_module(std::string_view path, auto&& visit) {
  while (!path.empty()) {
    visit(path);
    const std::size_t dot = path.rfind('.');
    path = dot == path.npos ? std::string_view() : path.substr(0, dot);
  }
}

// Nodes of a backend that may leave it together.
struct Leavers {
  std::set<const NodeReport*> nodes;
  bool is_single = false;  // a module by its number, whose copies stay

  std::uint64_t macs() const {
    std::uint64_t sum = 0;
    for (const NodeReport* node : nodes) sum += node->macs.value_or(0);
    return sum;
  }
};

// Changes of one request of a plan.
class RequestChanges {
 public:
  RequestChanges(const DelegationPlan& plan, std::size_t request, const Report& report)
      : plan_(plan), request_(request), report_(report) {}

  std::vector<PlanChange> make(const BackendEntry* entry) {
    if (entry != nullptr) {
      for (const auto& [key, value] : entry->tunable) change_option(key, value);
    }
    for (const std::string_view nodes : {"2", "4", "16"}) change_option("min_nodes", nodes);
    change_option("merge_unconnected", "false");
    add_leavers();
    return std::move(changed_);
  }

 private:
  const BackendRequest& request() const { return plan_.backends[request_]; }

  // Does not change an option that the user has set.
  void change_option(std::string_view key, std::string_view value) {
    const auto is_key = [&](const auto& option) { return option.first == key; };
    if (std::ranges::none_of(request().options, is_key))
      add_options({{std::string(key), std::string(value)}});
  }

  void add_options(BackendOptions options) {
    changed_.push_back({.backend = request_, .options = std::move(options)});
  }

  bool is_owned(const NodeReport& node) const {
    return node.owner == request().name && (request().method.empty() || node.method == request().method);
  }

  void add_leavers() {
    std::map<std::string, Leavers> by_selector;
    std::size_t owned = 0;
    std::uint64_t all_macs = 0;
    for (const NodeReport& node : report_.nodes) {
      all_macs += node.macs.value_or(0);
      if (!is_owned(node)) continue;
      ++owned;
      by_selector[fmt::format("op:{}", node.op.str())].nodes.insert(&node);
      for_each_module(node.source.module_path.str(), [&](std::string_view path) {
        const std::string open = with_numbers_open(path);
        by_selector["module:" + open].nodes.insert(&node);
        if (open == path) return;
        Leavers& single = by_selector[fmt::format("module:{}", path)];
        single.nodes.insert(&node);
        single.is_single = true;
      });
    }
    const double max_macs = max_undelegated_macs * static_cast<double>(all_macs);
    std::erase_if(by_selector, [&](const auto& group) {
      const auto& [selector, leavers] = group;
      const bool is_cheap = plan_.backends.size() > 1 || static_cast<double>(leavers.macs()) <= max_macs;
      return !is_cheap || leavers.nodes.size() == owned || selector.find(',') != selector.npos;
    });
    add_each(by_selector);
  }

  // Repeated modules come first, and what computes least. Several selectors may have the same nodes: a module, and the one around it.
  void add_each(const std::map<std::string, Leavers>& by_selector) {
    std::vector<const std::pair<const std::string, Leavers>*> order;
    for (const auto& group : by_selector) order.push_back(&group);
    std::ranges::stable_sort(order, {}, [](const auto* group) {
      return std::pair(group->second.is_single, group->second.macs());
    });
    std::set<std::set<const NodeReport*>> seen;
    for (const auto* group : order) {
      if (seen.insert(group->second.nodes).second) add_options({{std::string(off_key), group->first}});
    }
  }

  const DelegationPlan& plan_;
  std::size_t request_;
  const Report& report_;
  std::vector<PlanChange> changed_;
};

}  // namespace

DelegationPlan PlanChange::applied_to(DelegationPlan plan) const {
  BackendOptions& all = plan.backends[backend].options;
  for (const auto& option : options) {
    if (option.first != off_key)
      std::erase_if(all, [&](const auto& other) { return other.first == option.first; });
    all.push_back(option);
  }
  return plan;
}

std::vector<DelegationPlan> static_plans(const DelegationPlan& asked) {
  std::vector<DelegationPlan> plans = {asked};
  std::vector<Backends> sets;
  if (asked.backends.size() <= max_permuted) {
    sets = subsets(asked.backends);
  } else {
    sets = {asked.backends};
    for (const BackendRequest& request : asked.backends) sets.push_back({request});
  }
  for (const Backends& set : sets) {
    for (const Backends& order : set.size() <= max_permuted ? orders(set) : std::vector<Backends>{set}) {
      plans.push_back({.backends = order});
      if (order.size() > 1) plans.push_back({.backends = order, .is_joint = true});
    }
  }
  plans.emplace_back();
  return plans;
}

std::vector<PlanChange> changes_of(const DelegationPlan& plan, const Report& report,
                                   const Registry& registry) {
  std::vector<PlanChange> all;
  for (std::size_t i = 0; i < plan.backends.size(); ++i) {
    RequestChanges changes(plan, i, report);
    std::ranges::move(changes.make(registry.find(plan.backends[i].name)), std::back_inserter(all));
  }
  return all;
}

}  // namespace depute
