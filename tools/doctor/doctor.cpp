// Implements `depute doctor`: lists all problems of a model, each with its line, its cause and a fix. Causes
// are the report's refusals and reasons; fixes are the page's advice.
//
//   1. ExecuTorch's runtime has no kernel for mylib.spin.default (2 nodes)
//      at  model.py:4: y = spin(x)
//      do  choose a backend that takes them, or write the model without them
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "depute/program/result.h"
#include "depute/tools/report.h"
#include "plan/plan.h"
#include "support/number_text.h"
#include "tools/document/document.h"
#include "tools/report/page_facts.h"
#include "tools/report/undelegated.h"

namespace depute {
namespace {

constexpr std::size_t told_places = 3;

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
  explicit DoctorWriter(const Report& report) : report_(report) {}

  doc::Document run() {
    std::string counts =
        fmt::format("{}: {} of {} nodes delegated ({:.1f} %), {}", report_.input, report_.delegated_nodes(),
                    report_.nodes.size(), report_.coverage(), plural(report_.delegates.size(), "delegate"));
    document_.blocks.emplace_back(doc::Line{.text = counts, .is_wrapped = true});
    add_blockers();
    add_undelegated();
    add_changes();
    if (report_.refusals.empty()) {
      document_.line("");
      document_.line("`depute lower` writes this program.");
    }
    return std::move(document_);
  }

 private:
  void add_title(std::string title) { document_.heading(doc::Span{std::move(title), doc::Style::Strong}); }

  void add_troubles(std::string title, const std::vector<Trouble>& troubles) {
    if (troubles.empty()) return;
    add_title(std::move(title));
    doc::List list{.noun = "cause"};
    for (const Trouble& trouble : troubles) list.items.push_back(item_of(trouble));
    document_.add(std::move(list));
  }

  static doc::Item item_of(const Trouble& trouble) {
    doc::Item item{fmt::format("{} ({}{})", trouble.what, plural(trouble.nodes, "node"), trouble.cost)};
    const std::size_t shown = shown_of(trouble.places.size(), told_places);
    for (std::size_t i = 0; i < shown; ++i) {
      const SourceLocation& place = trouble.places[i];
      item.facts.push_back({i == 0 ? "at" : "", place.str()});
      if (!place.line_text.empty()) item.facts.push_back({"", std::string(place.line_text.str()), 2});
    }
    if (const std::size_t more = trouble.places.size() - shown; more > 0)
      item.facts.push_back({"", fmt::format("and {} more {}", more, more == 1 ? "line" : "lines")});
    if (!trouble.help.empty()) item.facts.push_back({"do", trouble.help});
    return item;
  }

  void add_blockers() {
    const std::vector<SourceLocation> sources = refusal_sources(report_);
    std::map<std::pair<std::string, std::string>, std::size_t> numbers;
    std::vector<Trouble> troubles;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Diagnostic& cause = report_.refusals[i].cause;
      const auto [found, is_new] = numbers.emplace(cause_of(cause), troubles.size());
      if (is_new) troubles.push_back({.what = cause.message, .help = cause.hint});
      troubles[found->second].add(sources[i]);
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
    if (facts->is_advice_left_out)
      return document_.line("     The program is too large to be planned again for each change.");
    document_.line("     Each was planned again; the counts are those that lowering with it gives.");
    doc::List list{.noun = "change"};
    for (const Advice& each : advice) list.items.push_back(item_of(each));
    document_.add(std::move(list));
  }

  doc::Item item_of(const Advice& advice) const {
    const PageCounts& after = advice.after;
    doc::Item item{advice.what};
    item.facts.push_back(
        {"get", fmt::format("{} -> {}, {:.1f} -> {:.1f} % of nodes", report_.delegates.size(),
                            plural(after.delegates, "delegate"), report_.coverage(),
                            percent(after.delegated, after.nodes, 100))});
    if (!advice.effect.empty()) item.facts.push_back({"", advice.effect});
    if (!advice.source.empty()) item.facts.push_back({"at", advice.source});
    item.facts.push_back({"do", advice.flags.empty() ? advice.source.empty()
                                                           ? "change the model: no option does this"
                                                           : "change the model there: no option does this"
                                                     : advice.flags});
    if (!advice.note.empty()) item.facts.push_back({advice.flags.empty() ? "why" : "but", advice.note});
    return item;
  }

  const Report& report_;
  doc::Document document_;
};

}  // namespace

std::string doctor_text(const Report& report, const DoctorOptions& options) {
  return render_text(DoctorWriter(report).run(), {.top = options.top, .has_color = options.color});
}

}  // namespace depute
