// Writes drawings as SVG, in layers: a node is below all its inputs, close to their middle.
//
//   x -> xnnpack0 -> relu -> output     ->     four layers with a box each, and curves between them
//
// Each delegate is one box. The other formats and `depute explain` show its nodes.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tools/document/document.h"
#include "tools/graph/drawing.h"

namespace depute {
namespace {

constexpr double box_height = 38;
constexpr double layer_distance = 84;
constexpr double gap = 18;
constexpr double margin = 24;
constexpr double title_height = 34;

struct SvgBox {
  std::size_t layer = 0;
  double x = 0;  // center
  double width = 0;
};

// Estimates the width of a box from its text, which is ASCII with nearly uniform letter widths.
double box_width(const DrawnNode& node) {
  const std::size_t letters = std::max(node.label.size(), node.id.size());
  return 20 + 6.6 * static_cast<double>(std::min<std::size_t>(letters, 44));
}

class SvgLayout {
 public:
  explicit SvgLayout(const DrawnGraph& graph) : graph_(graph), boxes_(graph.nodes.size()) {
    for (std::size_t i = 0; i < boxes_.size(); ++i) boxes_[i].width = box_width(graph.nodes[i]);
    find_layers();
    make_room_for_edges();
    for (const std::vector<std::size_t>& layer : layers_) place(layer);
    const double left = left_edge();
    for (SvgBox& box : boxes_) box.x += margin - left;
    for (const SvgBox& box : boxes_) width_ = std::max(width_, box.x + box.width / 2 + margin);
  }

  const SvgBox& box(std::size_t node) const { return boxes_[node]; }
  // Places that an edge passes in the layers between its ends, from top to bottom.
  std::vector<SvgBox> between(std::size_t source, std::size_t user) const {
    std::vector<SvgBox> boxes;
    for (const std::size_t each : room_[source]) {
      if (boxes_[each].layer < boxes_[user].layer) boxes.push_back(boxes_[each]);
    }
    return boxes;
  }
  double width() const { return width_; }
  double height() const { return title_height + layer_distance * static_cast<double>(layers_.size()); }

 private:
  // A node's layer is the longest path from a node without inputs. A loop's edges may lead back.
  void find_layers() {
    std::vector<std::size_t> waiting_for(boxes_.size(), 0);
    std::vector<std::vector<std::size_t>> users(boxes_.size());
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      for (const DrawnEdge& edge : graph_.nodes[i].inputs) users[edge.source].push_back(i);
      waiting_for[i] = graph_.nodes[i].inputs.size();
    }
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      if (waiting_for[i] == 0) ready.push_back(i);
    }
    for (std::size_t next = 0; next < ready.size(); ++next) {
      for (std::size_t user : users[ready[next]]) {
        boxes_[user].layer = std::max(boxes_[user].layer, boxes_[ready[next]].layer + 1);
        if (--waiting_for[user] == 0) ready.push_back(user);
      }
    }
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      layers_.resize(std::max(layers_.size(), boxes_[i].layer + 1));
      layers_[boxes_[i].layer].push_back(i);
    }
  }

  // A node whose users are further down has a place in each layer between, so that its edges pass beside
  // boxes. In graphs with very many such places the rest of the edges run behind boxes.
  void make_room_for_edges() {
    constexpr double edge_width = 6;
    constexpr std::size_t most_places = 200'000;
    room_.resize(graph_.nodes.size());
    std::vector<std::size_t> last(graph_.nodes.size(), 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const DrawnEdge& edge : graph_.nodes[i].inputs)
        last[edge.source] = std::max(last[edge.source], boxes_[i].layer);
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      std::size_t above = i;
      if (above_.size() > most_places) return;
      for (std::size_t layer = boxes_[i].layer + 1; layer < last[i]; ++layer) {
        room_[i].push_back(boxes_.size());
        layers_[layer].push_back(boxes_.size());
        above_.push_back(above);
        above = boxes_.size();
        boxes_.push_back({.layer = layer, .width = edge_width});
      }
    }
  }

  double wanted_x(std::size_t node) const {
    if (node >= graph_.nodes.size()) return boxes_[above_[node - graph_.nodes.size()]].x;
    const auto& inputs = graph_.nodes[node].inputs;
    if (inputs.empty()) return 0;
    double sum = 0;
    for (const DrawnEdge& edge : inputs) sum += boxes_[edge.source].x;
    return sum / static_cast<double>(inputs.size());
  }

  // Side by side in the order of what they take; the layer's middle is where they want to be.
  void place(const std::vector<std::size_t>& layer) {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t node : layer) order.emplace_back(wanted_x(node), node);
    std::ranges::stable_sort(order, {}, &std::pair<double, std::size_t>::first);
    double left = -1e18;
    double drift = 0;
    for (const auto& [wanted, node] : order) {
      SvgBox& box = boxes_[node];
      box.x = std::max(wanted, left + box.width / 2);
      left = box.x + box.width / 2 + gap;
      drift += box.x - wanted;
    }
    for (std::size_t node : layer) boxes_[node].x -= drift / static_cast<double>(layer.size());
  }

  double left_edge() const {
    double left = 1e18;
    for (const SvgBox& box : boxes_) left = std::min(left, box.x - box.width / 2);
    return boxes_.empty() ? 0 : left;
  }

  const DrawnGraph& graph_;
  std::vector<SvgBox> boxes_;                   // boxes of nodes, then places of edges
  std::vector<std::size_t> above_;              // by place of an edge: the box or place above it
  std::vector<std::vector<std::size_t>> room_;  // by node: places of its edges, from top to bottom
  std::vector<std::vector<std::size_t>> layers_;
  double width_ = 2 * margin;
};

std::string shortened(std::string_view text) {
  constexpr std::size_t most = 44;
  if (text.size() <= most) return escape_html(text);
  std::size_t end = most - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;  // at a character's start
  return escape_html(text.substr(0, end)) + "&#8230;";
}

double top_of(const SvgBox& box, double top) {
  return top + layer_distance * static_cast<double>(box.layer);
}

// Draws a curve from layer to layer, beside the boxes between.
std::string svg_edge(const SvgBox& from, const std::vector<SvgBox>& between, const SvgBox& to, double top) {
  const double bend = (layer_distance - box_height) * 0.6;
  double x = from.x;
  double y = top_of(from, top) + box_height;
  std::string path = fmt::format("<path d=\"M{:.1f} {:.1f}", x, y);
  const auto go_to = [&](const SvgBox& box) {
    const double below = top_of(box, top);
    path += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x, y + bend, box.x, below - bend, box.x,
                        below);
    x = box.x;
    y = below + box_height;
  };
  for (const SvgBox& box : between) {
    go_to(box);
    path += fmt::format("V{:.1f}", y);
  }
  go_to(to);
  return path + "\"/>\n";
}

std::string svg_node(const DrawnNode& node, const SvgBox& box, double top, OwnerColors& colors) {
  const double y = top + layer_distance * static_cast<double>(box.layer);
  std::string text = "<g><title>" + escape_html(node.id);
  for (const auto& [key, value] : node.facts)
    text += fmt::format("\n{}: {}", escape_html(key), escape_html(value));
  for (const std::string& type : node.types) text += "\n" + escape_html(type);
  text += fmt::format(
      "</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"{}\" fill=\"{}\"/>",
      box.x - box.width / 2, y, box.width, box_height, node.owner.empty() ? box_height / 2 : 5,
      colors.of(node.owner));
  const bool has_name = node.id != node.label && !node.owner.empty();
  text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", box.x, y + (has_name ? 17 : 23),
                      shortened(node.label));
  if (has_name)
    text += fmt::format("<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", box.x, y + 30,
                        shortened(node.id));
  return text + "</g>\n";
}

}  // namespace

std::string drawing_svg(const Drawing& drawing) {
  std::set<std::string> inner;
  for (const DrawnGraph& graph : drawing.graphs) {
    for (const DrawnNode& node : graph.nodes) {
      if (node.graph) inner.insert(*node.graph);
    }
  }
  OwnerColors colors;
  std::string body;
  double width = 0;
  double top = 0;
  for (const DrawnGraph& graph : drawing.graphs) {
    if (inner.contains(graph.id)) continue;
    const SvgLayout layout(graph);
    const double start = top + title_height;
    body += fmt::format("<text class=\"title\" x=\"{}\" y=\"{:.1f}\">{}</text>\n<g class=\"edges\">\n",
                        margin, top + 22, escape_html(graph.id));
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const DrawnEdge& edge : graph.nodes[i].inputs)
        body += svg_edge(layout.box(edge.source), layout.between(edge.source, i), layout.box(i), start);
    }
    body += "</g>\n";
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      body += svg_node(graph.nodes[i], layout.box(i), start, colors);
    width = std::max(width, layout.width());
    top += layout.height();
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
             "{0:.0f} "
             "{1:.0f}\">\n<title>{2}</title>\n<style>text {{ font: 11px ui-monospace, Menlo, Consolas, "
             "monospace; "
             "fill: #fff; text-anchor: middle; }} .name {{ font-size: 10px; opacity: .85; }} .title {{ font: "
             "600 "
             "15px system-ui, sans-serif; fill: #1b1f24; text-anchor: start; }} .edges {{ fill: none; "
             "stroke: "
             "#8a93a0; stroke-width: 1.3; }}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
             width, top, escape_html(file_name(drawing.name))) +
         body + "</svg>\n";
}

}  // namespace depute
