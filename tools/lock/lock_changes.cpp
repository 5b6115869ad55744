// Describes the differences between two locks. A partition is matched by its content, or else by most common
// nodes. Then lines with the same key are compared.
//
//   before: xnnpack0 {%a, %b, %c}                 %b went to ExecuTorch's kernels
//   now:    xnnpack0 {%a, %c}, left {%b}          (xnnpack0 is found again: it has two of the nodes)
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "depute/tools/lock.h"

namespace depute {

std::string LockChange::str() const {
  std::string line = place.empty() ? text : fmt::format("{}: {}", place, text);
  const std::string at = source.str();
  return at.empty() ? line : fmt::format("{} ({})", line, at);
}

namespace {

constexpr std::size_t no_place = ~std::size_t{0};

// The key of a line: lines about the same thing have the same key.
std::string key_of_line(const LockLine& line) {
  return line.kind + " " + line.name;
}

std::string owner_of(const LockPart& part) {
  return part.partition.empty() ? "ExecuTorch's kernels" : part.partition;
}

std::string place_of_part(const LockPart& part) {
  return part.partition.empty() ? part.method : fmt::format("{}, {}", part.method, part.partition);
}

std::string place_of_line(const LockPart& part, const LockLine& line) {
  return fmt::format("{}, {}", place_of_part(part), line.name);
}

class LockComparer {
 public:
  LockComparer(const Lock& before, const Lock& now) : before_(before), now_(now) {}

  std::vector<LockChange> run() {
    if (before_.made_by != now_.made_by)
      add("", fmt::format("made by {}, was made by {}", now_.made_by, before_.made_by));
    compare_lists("the option", before_.options, now_.options);
    compare_lists("the size", before_.sizes, now_.sizes);
    find_lines(before_, homes_before_, weights_before_);
    find_lines(now_, homes_now_, weights_now_);
    match_parts();
    for (std::size_t i = 0; i < before_.parts.size(); ++i) compare_part(i);
    for (std::size_t i = 0; i < now_.parts.size(); ++i) {
      if (!taken_[i]) add_new_part(i);
    }
    return std::move(changes_);
  }

 private:
  // The place of a node, by method and name.
  struct Home {
    std::size_t part = 0;
    const LockLine* line = nullptr;
  };
  using Homes = std::unordered_map<std::string, Home>;
  using Weights = std::unordered_set<std::string>;  // by method and text

  void add(std::string place, std::string text, const SourceLocation& source = {}) {
    changes_.push_back({std::move(place), std::move(text), source});
  }

  void compare_lists(std::string_view what, const std::vector<std::string>& before,
                     const std::vector<std::string>& now) {
    const auto missing = [](const std::vector<std::string>& list, const std::string& text) {
      return std::ranges::find(list, text) == list.end();
    };
    for (const std::string& text : before) {
      if (missing(now, text)) add("", fmt::format("{} {} is gone", what, text));
    }
    for (const std::string& text : now) {
      if (missing(before, text)) add("", fmt::format("{} {} is new", what, text));
    }
    const bool has_same = std::ranges::is_permutation(before, now);
    if (has_same && before != now) add("", fmt::format("{}s have another order", what));
  }

  static std::string home_key(const LockPart& part, const LockLine& line) {
    return part.method + "\n" + line.name;
  }

  static std::string weight_key(const LockPart& part, const LockLine& line) {
    return part.method + "\n" + line.text;
  }

  static void find_lines(const Lock& lock, Homes& homes, Weights& weights) {
    for (std::size_t i = 0; i < lock.parts.size(); ++i) {
      for (const LockLine& line : lock.parts[i].lines) {
        if (line.kind == "node") homes.emplace(home_key(lock.parts[i], line), Home{i, &line});
        if (line.kind == "weight") weights.insert(weight_key(lock.parts[i], line));
      }
    }
  }

  // All content of a part that is compared. Its name is excluded.
  static std::string content_of(const LockPart& part) {
    std::string content = part.method + "\n" + (part.partition.empty() ? "" : "partition ") + part.backend_id;
    for (const LockLine& line : part.lines) content += "\n" + line.kind + " " + line.text;
    return content;
  }

  void match_equal_parts() {
    std::unordered_map<std::string, std::deque<std::size_t>> open;
    for (std::size_t i = 0; i < now_.parts.size(); ++i) open[content_of(now_.parts[i])].push_back(i);
    for (std::size_t i = 0; i < before_.parts.size(); ++i) {
      std::deque<std::size_t>& equal = open[content_of(before_.parts[i])];
      if (equal.empty()) continue;
      matches_[i] = equal.front();
      taken_[equal.front()] = true;
      equal.pop_front();
    }
  }

  // Matches unchanged parts first. Other parts are matched by the number of common nodes, largest first.
  // Delegated parts only match delegated parts.
  void match_parts() {
    taken_.assign(now_.parts.size(), false);
    matches_.assign(before_.parts.size(), no_place);
    match_equal_parts();
    struct Pair {
      std::size_t shared;
      std::size_t before;
      std::size_t now;
    };
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < before_.parts.size(); ++i) {
      for (const auto& [now, shared] : shared_with(i)) pairs.push_back({shared, i, now});
    }
    std::ranges::stable_sort(pairs, std::ranges::greater(), &Pair::shared);
    for (const Pair& pair : pairs) {
      if (matches_[pair.before] != no_place || taken_[pair.now]) continue;
      matches_[pair.before] = pair.now;
      taken_[pair.now] = true;
    }
  }

  // A part without common nodes is matched with the part of the same name.
  std::map<std::size_t, std::size_t> shared_with(std::size_t number) const {
    std::map<std::size_t, std::size_t> shared;
    const LockPart& part = before_.parts[number];
    for (const LockLine& line : part.lines) {
      const auto home = homes_now_.find(home_key(part, line));
      if (line.kind != "node" || home == homes_now_.end()) continue;
      const std::size_t other = home->second.part;
      if (now_.parts[other].partition.empty() == part.partition.empty()) ++shared[other];
    }
    for (std::size_t i = 0; i < now_.parts.size(); ++i) {
      const LockPart& other = now_.parts[i];
      if (other.method == part.method && other.partition == part.partition) shared.try_emplace(i, 0);
    }
    return shared;
  }

  void compare_part(std::size_t number) {
    const LockPart& was = before_.parts[number];
    if (matches_[number] == no_place) {
      add(place_of_part(was), "the partition is gone");
      static const LockPart none;
      compare_lines(number, was, none);
      return;
    }
    const LockPart& is = now_.parts[matches_[number]];
    if (was.backend_id != is.backend_id)
      add(place_of_part(is), fmt::format("is of {}, was of {}", is.backend_id, was.backend_id));
    compare_lines(number, was, is);
  }

  void add_new_part(std::size_t number) {
    const LockPart& is = now_.parts[number];
    add(place_of_part(is), is.partition.empty() ? "the method is new" : "the partition is new");
    for (const LockLine& line : is.lines) {
      if (line.kind == "node" || line.kind == "weight") add_new_line(is, line);
    }
  }

  void compare_lines(std::size_t number, const LockPart& was, const LockPart& is) {
    std::multimap<std::string, const LockLine*> lines;
    for (const LockLine& line : is.lines) lines.emplace(key_of_line(line), &line);
    for (const LockLine& line : was.lines) {
      auto found = lines.find(key_of_line(line));
      if (found == lines.end()) {
        add_gone_line(number, was, line);
        continue;
      }
      if (found->second->text != line.text) add_changed_line(is, line, *found->second);
      lines.erase(found);
    }
    for (const LockLine& line : is.lines) {
      auto [first, last] = lines.equal_range(key_of_line(line));
      const bool is_left = std::any_of(first, last, [&](const auto& entry) { return entry.second == &line; });
      if (is_left) add_new_line(is, line);
    }
  }

  void add_changed_line(const LockPart& part, const LockLine& was, const LockLine& is) {
    const std::string place = place_of_line(part, is);
    // A weight's text ends with the hash of its bytes.
    const auto type_of = [](const LockLine& line) { return line.text.substr(0, line.text.rfind(' ')); };
    if (is.kind == "weight" && type_of(was) == type_of(is)) return add(place, "the weight's bytes changed");
    add(place, fmt::format("the {} is {}, was {}", is.kind, is.text, was.text), is.source);
  }

  // Reports a moved node only once, at its old place. Inputs and outputs follow from the nodes.
  void add_gone_line(std::size_t number, const LockPart& part, const LockLine& line) {
    if (line.kind == "input" || line.kind == "output") return;
    const bool is_content = line.kind == "node" || line.kind == "weight";
    if (matches_[number] == no_place && !is_content) return;
    const auto home = line.kind == "node" ? homes_now_.find(home_key(part, line)) : homes_now_.end();
    if (home == homes_now_.end()) {
      if (line.kind != "weight" || !weights_now_.contains(weight_key(part, line)))
        add(place_of_line(part, line), fmt::format("the {} is gone", line.kind));
      return;
    }
    if (home->second.part == matches_[number]) return;
    add(place_of_line(part, line), fmt::format("went to {}", owner_of(now_.parts[home->second.part])),
        home->second.line->source);
  }

  void add_new_line(const LockPart& part, const LockLine& line) {
    if (line.kind == "input" || line.kind == "output") return;
    if (line.kind == "node" && homes_before_.contains(home_key(part, line))) return;
    if (line.kind == "weight" && weights_before_.contains(weight_key(part, line))) return;
    add(place_of_line(part, line), fmt::format("the {} is new: {}", line.kind, line.text), line.source);
  }

  const Lock& before_;
  const Lock& now_;
  Homes homes_before_;
  Homes homes_now_;
  Weights weights_before_;
  Weights weights_now_;
  std::vector<std::size_t> matches_;  // by part of `before`: its match in `now`
  std::vector<bool> taken_;           // parts of `now` that are matched
  std::vector<LockChange> changes_;
};

}  // namespace

std::vector<LockChange> lock_changes(const Lock& before, const Lock& now) {
  return LockComparer(before, now).run();
}

}  // namespace depute
