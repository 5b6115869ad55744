#include "regions/label_regions.h"

#include <algorithm>

namespace depute {
namespace {

// Labels are rounded to the parity of a color; neutral atoms take any label.
struct Color {
  std::int32_t parity;   // parity of the labels: 0 or 1
  std::int32_t binding;  // 1 if only this parity is allowed
};

Color color_of(Support kind) {
  return {kind == Support::Unsupported ? 1 : 0, kind == Support::Neutral ? 0 : 1};
}

std::int32_t round_up(std::int32_t label, Color color) {
  return label + ((label ^ color.parity) & color.binding);
}
std::int32_t round_down(std::int32_t label, Color color) {
  return label - ((label ^ color.parity) & color.binding);
}

}  // namespace

LabelRange label_regions(const AtomGraph& graph) {
  const std::uint32_t count = graph.size();
  LabelRange range;
  range.earliest.resize(count);
  range.latest.resize(count);
  for (std::uint32_t atom = 0; atom < count; ++atom) {
    std::int32_t label = -1;
    for (std::uint32_t pred : graph.preds[atom]) label = std::max(label, range.earliest[pred]);
    range.earliest[atom] = round_up(label, color_of(graph.support[atom]));
    if (graph.support[atom] == Support::Supported) range.last = std::max(range.last, range.earliest[atom]);
  }
  for (std::uint32_t atom = count; atom-- > 0;) {
    std::int32_t label = range.last + 1;
    for (std::uint32_t succ : graph.succs[atom]) label = std::min(label, range.latest[succ]);
    range.latest[atom] = round_down(label, color_of(graph.support[atom]));
  }
  return range;
}

std::vector<std::uint32_t> path_before(const AtomGraph& graph, const LabelRange& range, std::uint32_t atom) {
  // A label exceeds the maximum label of its predecessors by at most one, so following that predecessor
  // visits every label.
  std::vector<std::uint32_t> path{atom};
  for (;;) {
    const std::uint32_t here = path.back();
    std::uint32_t best = here;
    for (std::uint32_t pred : graph.preds[here]) {
      if (best == here || range.earliest[pred] > range.earliest[best]) best = pred;
    }
    if (best == here || range.earliest[best] < 0) break;
    path.push_back(best);
  }
  std::ranges::reverse(path);
  return path;
}

std::vector<std::uint32_t> path_after(const AtomGraph& graph, const LabelRange& range, std::uint32_t atom) {
  std::vector<std::uint32_t> path{atom};
  for (;;) {
    const std::uint32_t here = path.back();
    std::uint32_t best = here;
    for (std::uint32_t succ : graph.succs[here]) {
      if (best == here || range.latest[succ] < range.latest[best]) best = succ;
    }
    if (best == here || range.latest[best] > range.last) break;
    path.push_back(best);
  }
  return path;
}

std::vector<std::uint32_t> witness_path(const AtomGraph& graph, const LabelRange& range) {
  std::uint32_t atom = 0;
  while (atom < graph.size() &&
         (graph.support[atom] != Support::Supported || range.earliest[atom] != range.last)) {
    ++atom;
  }
  return atom == graph.size() ? std::vector<std::uint32_t>() : path_before(graph, range, atom);
}

}  // namespace depute
