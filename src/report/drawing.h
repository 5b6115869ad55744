// The graphs of a program as they are drawn: nodes with what is told of them, and edges. A delegate is one
// node in the graph that calls it, and a graph of its own.
//
//   Drawing drawing = draw(report);            // which has page facts
//   print(drawing_json(drawing));              // for Model Explorer; drawing_dot(), drawing_svg()
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "depute/report.h"
#include "read/pte.h"

namespace depute {

struct DrawnEdge {
  std::size_t source = 0;  // of the graph's nodes
  std::size_t output = 0;  // of the source
  friend bool operator==(const DrawnEdge&, const DrawnEdge&) = default;
};

struct DrawnNode {
  std::string id;  // unique in its graph
  std::string label;
  std::string module;                // "blocks.0.attn"; empty: of the whole
  std::string owner;                 // as a node's report has it; empty for inputs and outputs
  std::optional<std::string> graph;  // a delegate's own
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<DrawnEdge> inputs;
  std::vector<std::string> types;  // of its outputs
};

struct DrawnGraph {
  std::string id;  // "forward", "forward/true_graph_0", "xnnpack0"
  std::vector<DrawnNode> nodes;
};

struct Drawing {
  std::string name;  // of the file
  std::vector<DrawnGraph> graphs;
};

// The report needs its page facts (LowerOptions::tell_page_facts).
Drawing draw(const Report& report);
// Of a .pte the nodes are instructions; a value comes from the last one that wrote it: the first that names
// it, and those that have it as their last argument.
Drawing draw(const PteFile& file, const std::string& name);

std::string drawing_json(const Drawing& drawing);  // a graph collection of Model Explorer
std::string drawing_dot(const Drawing& drawing);   // graphs as clusters
std::string drawing_svg(const Drawing& drawing);   // graphs below each other, without those of delegates

// A form that graphs are written in.
struct DrawingFormat {
  std::string_view name;
  std::string (*write)(const Drawing& drawing) = nullptr;
};
std::span<const DrawingFormat> drawing_formats();

// "#2b6cb0": what stands for an owner; backends of one drawing have different ones.
class OwnerColours {
 public:
  const char* of(const std::string& owner);

 private:
  std::vector<std::string> backends_;
};

}  // namespace depute
