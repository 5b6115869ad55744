// Implements `depute doctor`: lists all problems of a model, each with its line, its cause and a fix. Causes
// are the report's refusals and reasons; fixes are the page's advice.
//
//   1. ExecuTorch's runtime has no kernel for mylib.spin.default (2 nodes)
//      at  model.py:4: y = spin(x)
//      do  choose a backend that takes them, or write the model without them
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "depute/program/result.h"
#include "depute/tools/report.h"
#include "plan/plan.h"
#include "tools/report/colors.h"
#include "tools/report/page_facts.h"
#include "tools/report/undelegated.h"

namespace depute {
namespace {

constexpr std::size_t line_width = 80;
constexpr std::size_t told_places = 3;

// Wraps words at 80 columns and indents all lines but the first. A longer word gets its own line.
std::string wrapped(std::string_view start, std::string_view text) {
  std::string out(start);
  std::size_t column = start.size();
  bool is_first = true;
  for (std::size_t at = text.find_first_not_of(' '); at != text.npos; at = text.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = printable(text.substr(at, end - at));
    if (!is_first && column + 1 + word.size() > line_width) {
      out += "\n" + std::string(start.size(), ' ');
      column = start.size();
    } else if (!is_first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    is_first = false;
    at = end;
  }
  return out + "\n";
}

// Nodes with the same problem: the ops, and their places in the model.
struct Trouble {
  std::string what;
  std::string help = {};
  std::size_t nodes = 0;
  std::string cost = {};                    // ", 12.3 M MACs, 4.1 kB"
  std::vector<SourceLocation> places = {};  // without duplicate lines

  void add(const SourceLocation& place) {
    ++nodes;
    const auto is_same_line = [&](const SourceLocation& other) {
      return other.file == place.file && other.line == place.line;
    };
    if (!place.file.empty() && std::ranges::none_of(places, is_same_line)) places.push_back(place);
  }
};

class DoctorWriter {
 public:
  DoctorWriter(const Report& report, const DoctorOptions& options)
      : report_(report), top_(options.top), colors_(options.color) {}

  std::string run() {
    out_ = wrapped(
        "", fmt::format("{}: {} of {} nodes delegated ({:.1f} %), {} {}", report_.input,
                        report_.delegated_nodes(), report_.nodes.size(), report_.coverage(),
                        report_.delegates.size(), report_.delegates.size() == 1 ? "delegate" : "delegates"));
    add_blockers();
    add_undelegated();
    add_changes();
    if (report_.refusals.empty()) out_ += "\n`depute lower` writes this program.\n";
    return std::move(out_);
  }

 private:
  void add_title(std::string_view title) {
    out_ += fmt::format("\n{}{}{}\n", colors_.bold, title, colors_.plain);
  }

  std::size_t shown(std::size_t all) const { return top_ == 0 ? all : std::min(top_, all); }

  void add_more(std::size_t all, std::string_view what) {
    if (shown(all) == all) return;
    const std::size_t more = all - shown(all);
    out_ += wrapped("     ",
                    fmt::format("and {} more {}{}; --top 0 lists all", more, what, more == 1 ? "" : "s"));
  }

  void add_troubles(std::string_view title, const std::vector<Trouble>& troubles) {
    if (troubles.empty()) return;
    add_title(title);
    for (std::size_t i = 0; i < shown(troubles.size()); ++i) add_trouble(i + 1, troubles[i]);
    add_more(troubles.size(), "cause");
  }

  void add_trouble(std::size_t number, const Trouble& trouble) {
    const std::string start = fmt::format("{:3}. ", number);
    out_ += wrapped(start, fmt::format("{} ({} {}{})", trouble.what, trouble.nodes,
                                       trouble.nodes == 1 ? "node" : "nodes", trouble.cost));
    std::string_view word = "     at  ";
    for (std::size_t i = 0; i < std::min(trouble.places.size(), told_places); ++i) {
      const SourceLocation& place = trouble.places[i];
      out_ += wrapped(std::exchange(word, "         "), place.str());
      if (!place.line_text.empty()) out_ += wrapped("           ", place.line_text.str());
    }
    if (trouble.places.size() > told_places)
      out_ += fmt::format("         and {} more {}\n", trouble.places.size() - told_places,
                          trouble.places.size() - told_places == 1 ? "line" : "lines");
    if (!trouble.help.empty()) out_ += wrapped("     do  ", trouble.help);
  }

  void add_blockers() {
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const NodeReport*> nodes;
    for (const NodeReport& node : report_.nodes)
      nodes.emplace(std::tuple(node.method.str(), node.graph.str(), node.node.str()), &node);
    std::map<std::pair<std::string, std::string>, std::size_t> numbers;
    std::vector<Trouble> troubles;
    for (const RefusalReport& refusal : report_.refusals) {
      const auto [found, is_new] = numbers.emplace(cause_of(refusal.cause), troubles.size());
      if (is_new) troubles.push_back({.what = refusal.cause.message, .help = refusal.cause.hint});
      const auto node = nodes.find({refusal.method.str(), refusal.graph.str(), refusal.node.str()});
      troubles[found->second].add(node == nodes.end() ? SourceLocation() : node->second->source);
    }
    add_troubles("What keeps `depute lower` from writing the program", troubles);
  }

  // A missing bound is grouped by its hint alone, which names the symbol; it may affect many tensors.
  static std::pair<std::string, std::string> cause_of(const Diagnostic& cause) {
    return {cause.code == no_bound ? std::string() : cause.message, cause.hint};
  }

  static std::string cost_text(const NodeCost& cost) {
    std::string text;
    if (cost.macs != 0) text += ", " + amount_text(cost.macs, cost.macs ? "MACs" : "");
    if (cost.bytes != 0) text += ", " + amount_text(cost.bytes, "B");
    return cost.macs && cost.bytes ? text : ", of unbounded size";
  }

  // Lists the most expensive causes first.
  void add_undelegated() {
    std::vector<Trouble> troubles;
    for (const LeftByCause& cause : group_by_cause(report_)) {
      const std::string ops = cause.kinds.size() == 1 ? cause.kinds[0].op : kinds_text(cause.kinds);
      Trouble& trouble = troubles.emplace_back(
          Trouble{.what = fmt::format("{}: {}", ops, cause.reason), .cost = cost_text(cause.cost)});
      for (const NodeReport* node : cause.nodes) trouble.add(node->source);
    }
    add_troubles("What no backend took", troubles);
  }

  void add_changes() {
    const PageFacts* facts = report_.page.get();
    if (facts == nullptr) return;
    const std::vector<Advice> advice = facts->advice.value_or(std::vector<Advice>());
    if (advice.empty() && !facts->is_advice_left_out) return;
    add_title("What to change");
    if (facts->is_advice_left_out) {
      out_ += wrapped("     ", "The program is too large to be planned again for each change.");
      return;
    }
    out_ += wrapped("     ", "Each was planned again; the counts are those that lowering with it gives.");
    for (std::size_t i = 0; i < shown(advice.size()); ++i) add_change(i + 1, advice[i]);
    add_more(advice.size(), "change");
  }

  void add_change(std::size_t number, const Advice& advice) {
    const PageCounts& after = advice.after;
    const double share =
        after.nodes == 0 ? 100.0
                         : 100.0 * static_cast<double>(after.delegated) / static_cast<double>(after.nodes);
    out_ += wrapped(fmt::format("{:3}. ", number), advice.what);
    out_ += fmt::format("     get {} -> {} {}, {:.1f} -> {:.1f} % of nodes\n", report_.delegates.size(),
                        after.delegates, after.delegates == 1 ? "delegate" : "delegates", report_.coverage(),
                        share);
    if (!advice.effect.empty()) out_ += wrapped("         ", advice.effect);
    if (!advice.source.empty()) out_ += wrapped("     at  ", advice.source);
    out_ += wrapped("     do  ", advice.flags.empty() ? advice.source.empty()
                                                            ? "change the model: no option does this"
                                                            : "change the model there: no option does this"
                                                      : advice.flags);
    if (!advice.note.empty()) out_ += wrapped(advice.flags.empty() ? "     why " : "     but ", advice.note);
  }

  const Report& report_;
  std::size_t top_;
  Colors colors_;
  std::string out_;
};

}  // namespace

std::string doctor_text(const Report& report, const DoctorOptions& options) {
  return DoctorWriter(report, options).run();
}

}  // namespace depute
