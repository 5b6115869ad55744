// Writes drawings as JSON for Model Explorer, and as DOT for Graphviz.
//
//   %y = aten.relu.default of module "a.b", portable
//     ->  {"id": "%y", "label": "aten.relu.default", "namespace": "a/b", "incomingEdges": [...], ...}
//     ->  g0n1 [label="aten.relu.default\n%y", fillcolor="#d98a1f"]
#include <fmt/format.h>

#include <algorithm>

#include "depute/program/result.h"
#include "tools/document/document.h"
#include "tools/graph/drawing.h"
#include "tools/report/report_fields.h"

namespace depute {
namespace {

JsonValue key_value(std::string_view key, std::string_view value) {
  return {{"key", key}, {"value", value}};
}

// Mixes a color with white, since Model Explorer writes labels in black: "#2b6cb0" becomes "#d5e2ef".
std::string tint(std::string_view color) {
  std::string mixed = "#";
  for (std::size_t i = 1; i + 1 < color.size(); i += 2) {
    const int part = std::stoi(std::string(color.substr(i, 2)), nullptr, 16);
    mixed += fmt::format("{:02x}", 255 - (255 - part) / 5);
  }
  return mixed;
}

JsonValue drawn_node_json(const DrawnGraph& graph, const DrawnNode& node, OwnerColors& colors) {
  std::string space = node.module;
  std::ranges::replace(space, '.', '/');
  JsonValue json = {{"id", node.id}, {"label", node.label}, {"namespace", space}};
  if (node.graph) json["subgraphIds"] = JsonValue::array({*node.graph});
  json["attrs"] = JsonValue::array();
  for (const auto& [key, value] : node.facts) json["attrs"].push_back(key_value(key, value));
  json["incomingEdges"] = JsonValue::array();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    json["incomingEdges"].push_back({{"sourceNodeId", graph.nodes[node.inputs[i].source].id},
                                     {"sourceNodeOutputId", fmt::format("{}", node.inputs[i].output)},
                                     {"targetNodeInputId", fmt::format("{}", i)}});
  }
  json["outputsMetadata"] = JsonValue::array();
  for (std::size_t i = 0; i < node.types.size(); ++i)
    json["outputsMetadata"].push_back(
        {{"id", fmt::format("{}", i)}, {"attrs", JsonValue::array({key_value("type", node.types[i])})}});
  if (!node.owner.empty()) {
    const std::string_view color = colors.of(node.owner);
    json["style"] = {{"backgroundColor", tint(color)}, {"borderColor", color}};
  }
  return json;
}

// Escapes text for quotes. Line breaks are added by the caller, so they are not escaped here.
std::string dot_text(std::string_view text) {
  std::string quoted;
  for (char c : printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

std::string dot_node(std::size_t graph, std::size_t number, const DrawnNode& node, OwnerColors& colors) {
  const std::string name = node.id == node.label ? "" : "\\n" + dot_text(node.id);
  std::string facts;
  for (const auto& [key, value] : node.facts)
    facts += fmt::format("{}: {}\\n", dot_text(key), dot_text(value));
  const std::string look =
      node.owner.empty() ? "shape=ellipse"
                         : fmt::format("shape=box, style=\"filled\", fontcolor=\"white\", fillcolor=\"{}\"",
                                       colors.of(node.owner));
  return fmt::format("    g{}n{} [label=\"{}{}\", tooltip=\"{}\", {}];\n", graph, number,
                     dot_text(node.label), name, facts, look);
}

}  // namespace

std::string drawing_json(const Drawing& drawing) {
  OwnerColors colors;
  JsonValue graphs = JsonValue::array();
  for (const DrawnGraph& graph : drawing.graphs) {
    JsonValue nodes = JsonValue::array();
    for (const DrawnNode& node : graph.nodes) nodes.push_back(drawn_node_json(graph, node, colors));
    graphs.push_back({{"id", graph.id}, {"nodes", std::move(nodes)}});
  }
  return dump_json({{"label", file_name(drawing.name)}, {"graphs", std::move(graphs)}}, 1);
}

std::string drawing_dot(const Drawing& drawing) {
  OwnerColors colors;
  std::string text = fmt::format("digraph \"{}\" {{\n  node [fontname=\"sans-serif\"];\n",
                                 dot_text(file_name(drawing.name)));
  for (std::size_t g = 0; g < drawing.graphs.size(); ++g) {
    const DrawnGraph& graph = drawing.graphs[g];
    text += fmt::format("  subgraph cluster_{} {{\n    label=\"{}\";\n", g, dot_text(graph.id));
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) text += dot_node(g, n, graph.nodes[n], colors);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const DrawnEdge& edge : graph.nodes[n].inputs) {
        const auto& types = graph.nodes[edge.source].types;
        const std::string type = edge.output < types.size() ? dot_text(types[edge.output]) : "";
        text += fmt::format("    g{0}n{1} -> g{0}n{2} [tooltip=\"{3}\"];\n", g, edge.source, n, type);
      }
    }
    text += "  }\n";
  }
  return text + "}\n";
}

}  // namespace depute
