#include "tools/doctor/advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "depute/backend/partitioner.h"
#include "support/number_text.h"
#include "support/try.h"
#include "tools/report/option_text.h"
#include "tools/report/page_facts.h"
#include "tools/report/planned_facts.h"
#include "tools/report/undelegated.h"

namespace depute {
namespace {

// Nodes of one op that a backend rejected for the same reason.
struct RefusedNodes {
  std::string backend;  // name in the report
  Name op;
  Verdict refusal;
};

// A partitioner that behaves as if its backend took exactly these nodes. A partitioner without a proposal is
// unchanged.
class TakingPartitioner : public Partitioner {
 public:
  TakingPartitioner(std::shared_ptr<const Partitioner> inner, std::vector<RefusedNodes> nodes)
      : inner_(std::move(inner)), nodes_(std::move(nodes)) {}

  OpsToNotDecompose ops_to_not_decompose(const Program& program) const override {
    return inner_->ops_to_not_decompose(program);
  }

  Result<PartitionResult> partition(const Program& program, const Method& method) const override {
    TRY(std::optional<Proposal> proposed, proposal(program, method));
    return proposed ? propose_partitions(program, method, *proposed) : inner_->partition(program, method);
  }

  Result<std::optional<Proposal>> proposal(const Program& program, const Method& method) const override {
    TRY(std::optional<Proposal> proposed, inner_->proposal(program, method));
    if (!proposed) return proposed;
    proposed->support = [nodes = nodes_, inner = std::move(proposed->support)](const Node& node) {
      NodeSupport answer = inner(node);
      const bool is_one =
          answer.support == Support::Unsupported && std::ranges::any_of(nodes, [&](const RefusedNodes& each) {
            return node.op() == each.op && answer.refusal.rule == each.refusal.rule &&
                   answer.refusal.seen == each.refusal.seen && answer.refusal.allowed == each.refusal.allowed;
          });
      return is_one ? take() : answer;
    };
    return proposed;
  }

 private:
  std::shared_ptr<const Partitioner> inner_;
  std::vector<RefusedNodes> nodes_;
};

// Rejected nodes of one op with the same reason.
struct RefusedGroup {
  RefusedNodes nodes;
  std::uint64_t count = 0;
  std::uint64_t macs = 0;
  std::string source;  // source of the first node
};

std::vector<RefusedGroup> refused_groups(const Report& report) {
  std::map<std::tuple<std::string, std::string_view, std::string, std::string, std::string>, RefusedGroup>
      groups;
  for (std::size_t i = 0; i < report.nodes.size(); ++i) {
    const NodeReport& node = report.nodes[i];
    if (!node.delegate.empty()) continue;
    for (const auto& [backend, verdict] : node.reasons) {
      RefusedGroup& group = groups[{backend, node.op.str(), verdict.rule, verdict.seen, verdict.allowed}];
      if (group.count++ == 0) {
        group.nodes = {.backend = backend, .op = node.op, .refusal = verdict};
        group.source = node.source.str();
      }
      if (report.page != nullptr) group.macs += report.page->nodes[i].macs;
    }
  }
  std::vector<RefusedGroup> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const RefusedGroup& group) { return std::pair(group.count, group.macs); });
  return sorted;
}

// A change of options that has not been evaluated yet.
struct Candidate {
  Advice advice;
  LowerOptions options;
  bool goes_further = false;  // extends the previous candidate; omitted if the result is the same
};

// Minimum saving of planned memory that is worth advice, in bytes.
constexpr std::uint64_t min_saved = 100'000;

class Adviser {
 public:
  Adviser(const Report& report, const Compiler& compiler, const Exported& exported,
          const LowerOptions& options)
      : report_(report),
        compiler_(compiler),
        exported_(exported),
        options_(options),
        ranges_(exported.program().ranges),
        registry_(compiler.registry()) {}

  std::vector<Advice> run() {
    groups_ = refused_groups(report_);
    add_backends();
    for (const RefusedGroup& group : groups_) add_option_of(group);
    add_less_control();
    if (options_.backends.size() > 1 && !options_.joint_planning) {
      LowerOptions changed = options_;
      changed.joint_planning = true;
      add({.what = "plan the backends together"}, std::move(changed));
    }
    add_larger_pieces();
    judge_options();
    judge_takes();
    judge_bounds();
    std::ranges::stable_sort(found_, std::ranges::greater(), [&](const Advice& each) { return gain(each); });
    return std::move(found_);
  }

 private:
  void add(Advice advice, LowerOptions changed, bool goes_further = false) {
    advice.flags = backend_flags(changed);
    const bool is_known = std::ranges::any_of(
        candidates_, [&](const Candidate& other) { return other.advice.flags == advice.flags; });
    if (!is_known && advice.flags != backend_flags(options_))
      candidates_.push_back({std::move(advice), std::move(changed), goes_further});
  }

  // If no backend was requested, proposes each registered backend.
  void add_backends() {
    if (!options_.backends.empty()) return;
    for (const BackendEntry& entry : registry_.entries()) {
      if (!entry.is_recommended || !entry.make_partitioner || !entry.is_ready()) continue;
      LowerOptions changed = options_;
      changed.backends.push_back({.name = entry.name});
      add({.what = fmt::format("ask the backend {}", entry.name), .concerned = report_.nodes.size()},
          std::move(changed));
    }
  }

  // Rule of nodes that a backend could take, but rejects because ExecuTorch's kernel is faster. Taking them
  // would be a loss.
  static constexpr std::string_view slower_here = "kernel";

  // Proposes a change if the reason names an option of the backend ("layer_norm=true") or a pin of the user.
  void add_option_of(const RefusedGroup& group) {
    const Verdict& refusal = group.nodes.refusal;
    for (std::size_t i = 0; i < options_.backends.size(); ++i) {
      const BackendRequest& request = options_.backends[i];
      if (request.name != group.nodes.backend || request.partitioner != nullptr) continue;
      if (refusal.rule == slower_here) continue;
      LowerOptions changed = options_;
      BackendOptions& own = changed.backends[i].options;
      Advice advice{.op = group.nodes.op, .source = group.source, .concerned = group.count};
      if (refusal.rule == "pinned") {
        std::erase_if(own, [&](const auto& option) { return is_part_of_pin(option, refusal.seen); });
        advice.what = fmt::format("leave out the pin {}", refusal.seen);
      } else if (names_option(request.name, refusal.allowed)) {
        const std::size_t equals = refusal.allowed.find('=');
        const std::string key = refusal.allowed.substr(0, equals);
        std::erase_if(own, [&](const auto& option) { return option.first == key; });
        own.emplace_back(key, refusal.allowed.substr(equals + 1));
        advice.what = fmt::format("set {}", refusal.allowed);
        advice.note = refusal.seen;
      } else {
        continue;
      }
      add(std::move(advice), std::move(changed));
    }
  }

  // The pin "only=a,only=b" consists of all options with the key "only".
  static bool is_part_of_pin(const std::pair<std::string, std::string>& option, const std::string& pin) {
    return pin.starts_with("only=") ? option.first == "only" : pin == option.first + "=" + option.second;
  }

  bool names_option(const std::string& backend, const std::string& allowed) const {
    const BackendEntry* entry = registry_.find(backend);
    const std::size_t equals = allowed.find('=');
    if (entry == nullptr || equals == allowed.npos || allowed.find_first_of(" ,;") != allowed.npos)
      return false;
    return std::ranges::any_of(entry->options,
                               [&](const auto& option) { return option.first == allowed.substr(0, equals); });
  }

  // Proposes to remove each region option that the user set.
  void add_less_control() {
    for (std::size_t i = 0; i < options_.backends.size(); ++i) {
      for (const auto& [key, value] : options_.backends[i].options) {
        if (key != "mode" && key != "merge_unconnected" && key != "min_nodes" && key != "max_nodes") continue;
        LowerOptions changed = options_;
        std::erase_if(changed.backends[i].options, [&](const auto& option) { return option.first == key; });
        add({.what = fmt::format("leave out {}={}", key, value)}, std::move(changed));
      }
    }
  }

  // Proposes larger min_nodes, since each small delegate costs a call and saves little.
  void add_larger_pieces() {
    if (report_.delegates.size() < 3) return;
    for (std::size_t i = 0; i < options_.backends.size(); ++i) {
      const BackendRequest& request = options_.backends[i];
      const bool is_set = std::ranges::any_of(request.options,
                                              [](const auto& option) { return option.first == "min_nodes"; });
      if (is_set || request.partitioner != nullptr) continue;
      for (const int least : {3, 5}) {
        LowerOptions changed = options_;
        changed.backends[i].options.emplace_back("min_nodes", std::to_string(least));
        add({.what = fmt::format("leave pieces of fewer than {} nodes to ExecuTorch's kernels", least)},
            std::move(changed), least > 3);
      }
    }
  }

  void judge_options() {
    std::optional<PageCounts> last;
    for (std::size_t i = 0; i < std::min(candidates_.size(), max_tried); ++i) {
      Candidate& candidate = candidates_[i];
      Result<PageCounts> after = plan_again(candidate.options, {}, false);
      if (!after) continue;
      if (!candidate.goes_further || last != *after) keep(std::move(candidate.advice), *after);
      last = *after;
    }
  }

  // Evaluates rejected ops that would be worth delegating. No option achieves this, but the model can be
  // rewritten.
  void judge_takes() {
    if (options_.joint_planning) return;
    std::size_t tried = 0;
    std::map<std::pair<std::string, std::string>, std::vector<const RefusedGroup*>> lines;
    for (const RefusedGroup& group : groups_) {
      if (!is_the_models(group)) continue;
      if (tried++ == max_tried) break;
      if (!group.source.empty()) lines[{group.nodes.backend, group.source}].push_back(&group);
      Result<PageCounts> after = plan_again(options_, std::span(&group.nodes, 1), false);
      if (!after) continue;
      const Verdict& refusal = group.nodes.refusal;
      keep({.what = take_text(group.nodes),
            .note = reason_text(refusal),
            .op = group.nodes.op,
            .source = group.source,
            .concerned = group.count},
           *after);
    }
    for (const auto& [line, groups] : lines) {
      if (groups.size() > 1) judge_line(groups);
    }
  }

  // Evaluates delegating all rejected ops of one source line of the model.
  void judge_line(const std::vector<const RefusedGroup*>& groups) {
    std::vector<RefusedNodes> nodes;
    std::set<std::string> ops;
    std::uint64_t concerned = 0;
    for (const RefusedGroup* group : groups) {
      nodes.push_back(group->nodes);
      ops.emplace(group->nodes.op.str());
      concerned += group->count;
    }
    Result<PageCounts> after = plan_again(options_, nodes, false);
    if (!after) return;
    keep({.what = fmt::format("write {} with what {} takes", fmt::join(ops, ", "), nodes[0].backend),
          .note = "all are on this line",
          .source = groups[0]->source,
          .concerned = concerned},
         *after);
  }

  // True if a requested backend rejected the nodes for a reason that neither options nor bounds change.
  bool is_the_models(const RefusedGroup& group) const {
    const bool is_asked = std::ranges::any_of(
        options_.backends, [&](const BackendRequest& each) { return each.name == group.nodes.backend; });
    const Verdict& refusal = group.nodes.refusal;
    return is_asked && refusal.rule != "pinned" && refusal.rule != "unbounded" &&
           !names_option(group.nodes.backend, refusal.allowed);
  }

  // Suggests a change of the op's form if the backend supports the op, else a replacement of the op.
  static std::string take_text(const RefusedNodes& nodes) {
    const Verdict& refusal = nodes.refusal;
    if (refusal.seen == nodes.op.str() || refusal.rule == "op")
      return fmt::format("write {} with operators that {} has", nodes.op.str(), nodes.backend);
    if (refusal.allowed.empty())
      return fmt::format("change the {} of {}, which {} refuses", refusal.rule, nodes.op.str(),
                         nodes.backend);
    return fmt::format("change the {} of {} to what {} takes: {}", refusal.rule, nodes.op.str(),
                       nodes.backend, refusal.allowed);
  }

  // Evaluates upper bounds for sizes that are unbounded or have a large bound. Memory is planned for maximum
  // sizes, and backends reject unbounded sizes.
  void judge_bounds() {
    std::vector<std::string> sizes;
    for (const auto& [size, range] : ranges_) {
      const bool is_symbol =
          std::ranges::all_of(size, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
      if (is_symbol && range.max > tried_bound && range.min < tried_bound) sizes.push_back(size);
    }
    if (sizes.empty()) return;
    const Result<PageCounts> now = plan_again(options_, {}, true);
    if (!now) return;
    std::optional<Advice> all;
    if (sizes.size() > 1) all = advise_bounds(sizes, *now);
    if (sizes.size() > max_tried) sizes.resize(max_tried);
    for (const std::string& size : sizes) {
      std::optional<Advice> one = advise_bounds({size}, *now);
      if (!one) continue;
      if (all && all->after == one->after) all.reset();  // bounds on the other sizes change nothing
      found_.push_back(*std::move(one));
    }
    if (all) found_.push_back(*std::move(all));
  }

  // Advises upper bounds for `sizes`; returns nullopt if they gain nothing.
  std::optional<Advice> advise_bounds(const std::vector<std::string>& sizes, const PageCounts& now) {
    LowerOptions changed = options_;
    std::string flags = backend_flags(options_);
    std::vector<std::string> texts;
    for (const std::string& size : sizes) {
      const std::int64_t max = ranges_.find(size)->second.max;
      changed.bounds[size].max = tried_bound;
      flags += fmt::format("{}--bound {}=..{}", flags.empty() ? "" : " ", size, tried_bound);
      texts.push_back(max == Range::max_bound ? fmt::format("{} (now without a bound)", size)
                                              : fmt::format("{} (now up to {})", size, max));
    }
    const Result<PageCounts> after = plan_again(changed, {}, true);
    if (!after) return std::nullopt;
    Advice advice{
        .what = fmt::format("bound {} by the largest number that occurs", fmt::join(texts, ", ")),
        .flags = std::move(flags),
        .note = fmt::format("larger sizes are then refused at run time; {} is an example", tried_bound),
        .concerned = report_.nodes.size(),
        .after = *after};
    if (!after->memory) return is_gain(advice) ? std::optional(std::move(advice)) : std::nullopt;
    if (!now.memory) {
      advice.effect =
          fmt::format("the program can be written, with {} of planned memory", bytes_text(*after->memory));
      return advice;
    }
    if (*after->memory < *now.memory) {
      advice.effect =
          fmt::format("planned memory {} -> {}", bytes_text(*now.memory), bytes_text(*after->memory));
      advice.saved = *now.memory - *after->memory;
    }
    const bool saves = advice.saved >= min_saved && advice.saved * 10 >= *now.memory;
    return saves || is_gain(advice) ? std::optional(std::move(advice)) : std::nullopt;
  }

  static std::string reason_text(const Verdict& refusal) {
    std::string text = refusal.rule;
    if (!refusal.seen.empty()) text += ": " + refusal.seen;
    return refusal.allowed.empty() ? text : text + "; allowed: " + refusal.allowed;
  }

  void keep(Advice advice, const PageCounts& after) {
    advice.after = after;
    if (is_gain(advice)) found_.push_back(std::move(advice));
  }

  // True if the advice gains enough to be worth a line.
  bool is_gain(const Advice& advice) const {
    const PageCounts now = counts_of(report_);
    const PageCounts& after = advice.after;
    const bool is_less = after.delegated * now.nodes < now.delegated * after.nodes;
    const bool is_little = is_less && after.delegates * 10 > now.delegates * 9;
    return gain(advice) > 0 && !is_little && !is_loss(now, after);
  }

  // True if additional delegates, each of which costs a call and copies, bring too few nodes and
  // multiply-accumulates.
  static bool is_loss(const PageCounts& now, const PageCounts& after) {
    if (now.delegates == 0 || after.delegates <= now.delegates) return false;
    constexpr std::uint64_t nodes_each = 5;
    const bool has_nodes = after.delegated >= now.delegated + nodes_each * (after.delegates - now.delegates);
    return !has_nodes && after.macs * 20 <= now.macs * 21;
  }

  // Additional delegated nodes, plus two for each delegate less, plus one per megabyte saved.
  double gain(const Advice& advice) const {
    const auto share = [](const PageCounts& counts) {
      return counts.nodes == 0 ? 1.0
                               : static_cast<double>(counts.delegated) / static_cast<double>(counts.nodes);
    };
    const PageCounts now = counts_of(report_);
    const double nodes =
        (share(advice.after) - share(now)) * static_cast<double>(std::max<std::uint64_t>(now.nodes, 1));
    const double delegates =
        now.delegates == 0 ? 0
                           : static_cast<double>(now.delegates) - static_cast<double>(advice.after.delegates);
    return nodes + 2 * delegates + static_cast<double>(advice.saved) / 1e6;
  }

  // Partitions again with changed options and counts delegated nodes. `take` has nodes, all rejected by one
  // backend, that are to be taken in addition. With `memory`, PageCounts::memory is computed, too.
  Result<PageCounts> plan_again(LowerOptions options, std::span<const RefusedNodes> take, bool memory) const {
    options.verify_each_pass = false;
    options.without_payloads = true;
    options.observe = nullptr;
    options.cache = {};
    for (BackendRequest& request : options.backends) {
      TRY(request.partitioner, compiler_.partitioner(request));
      if (!take.empty() && request.name == take[0].backend)
        request.partitioner = std::make_shared<TakingPartitioner>(
            request.partitioner, std::vector<RefusedNodes>(take.begin(), take.end()));
    }
    TRY(Edge edge, compiler_.to_edge(exported_, options));
    TRY(const Delegated delegated, compiler_.to_backend(std::move(edge), options));
    PageCounts counts = counts_of(make_report(delegated));
    if (!memory) return counts;
    if (const Result<Executable> executable = to_executorch(delegated))
      counts.memory = planned_facts(*executable).memory;
    return counts;
  }

  const Report& report_;
  const Compiler& compiler_;
  const Exported& exported_;
  const LowerOptions& options_;
  const Ranges& ranges_;
  const Registry& registry_;
  std::vector<RefusedGroup> groups_;
  std::vector<Candidate> candidates_;
  std::vector<Advice> found_;
};

}  // namespace

void add_advice(Report& report, const Compiler& compiler, const Exported& exported,
                const LowerOptions& options) {
  report.page->advice.emplace();
  report.page->is_advice_left_out = report.nodes.size() > max_advised_nodes;
  if (!report.page->is_advice_left_out)
    report.page->advice = Adviser(report, compiler, exported, options).run();
}

}  // namespace depute
