// Graphs of a program for drawing: nodes with facts, and edges. A delegate is one node in the graph that
// calls it, and also a graph of its own.
//
//   Drawing drawing = draw(report);            // `report` needs page facts
//   print(drawing_json(drawing));              // for Model Explorer; drawing_dot(), drawing_svg()
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "depute/tools/report.h"
#include "read/pte.h"

namespace depute {

struct DrawnEdge {
  std::size_t source = 0;  // index among the graph's nodes
  std::size_t output = 0;  // index among the source's outputs
  friend bool operator==(const DrawnEdge&, const DrawnEdge&) = default;
};

struct DrawnNode {
  std::string id;  // unique in its graph
  std::string label;
  std::string module;                // "blocks.0.attn"; empty for the whole model
  std::string owner;                 // as in NodeReport; empty for inputs and outputs
  std::optional<std::string> graph;  // id of the delegate's graph
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<DrawnEdge> inputs;
  std::vector<std::string> types;  // types of its outputs
};

struct DrawnGraph {
  std::string id;  // "forward", "forward/true_graph_0", "xnnpack0"
  std::vector<DrawnNode> nodes;
};

struct Drawing {
  std::string name;  // name of the file
  std::vector<DrawnGraph> graphs;
};

// The report must have page facts (ReportParts::page).
Drawing draw(const Report& report);
// Nodes are the instructions of the .pte. A value comes from the last instruction that wrote it: the first
// that names it, and instructions that have it as last argument.
Drawing draw(const PteContents& file, const std::string& name);

std::string drawing_json(const Drawing& drawing);  // a graph collection of Model Explorer
std::string drawing_dot(const Drawing& drawing);   // graphs as clusters
std::string drawing_svg(const Drawing& drawing);   // graphs below each other, without those of delegates

// An output format for drawings.
struct DrawingFormat {
  std::string_view name;
  std::string (*write)(const Drawing& drawing) = nullptr;
};
std::span<const DrawingFormat> drawing_formats();

// The color of an owner, such as "#2b6cb0". Backends of one drawing get four different colors in turn.
class OwnerColors {
 public:
  const char* of(const std::string& owner);

 private:
  std::vector<std::string> backends_;
};

}  // namespace depute
