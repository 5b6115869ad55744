#include "payload/debug_handles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "node_text.h"
#include "support/check.h"

namespace depute::xnnpack {
namespace {

constexpr std::string_view square = "Square";
constexpr std::string_view mean_of_squares = "Mean Squared";

// Operator names by kind. A concatenation has one copy per input.
constexpr std::array<std::string_view, 51> operator_names = {
    "",
    "Add",
    "Fully Connected",
    "Softmax",
    "Sigmoid",
    "Transpose",
    "Clamp",
    "Convolution",
    "Divide",
    "Resize Bilinear",
    "Constant Pad",
    "Average Pooling",
    "Minimum",
    "Convolution",
    "Max Pooling",
    "Multiply",
    "Subtract",
    "Floor",
    "Convert",
    "Mean",
    "Static Reshape",
    "ArgMax Pooling",
    "Square Root",
    "Ceiling",
    "HardSwish",
    "LeakyReLU",
    "Maximum",
    "Negate",
    "Square",
    "ELU",
    "Abs",
    "PReLU",
    "Copy",
    "Copy",
    "Copy",
    "Slice",
    "",
    "Batch Matrix Multiply",
    "Copy",
    "Deconvolution",
    "Reciprocal Square Root",
    "Log",
    "GELU",
    "TanH",
    "Exp",
    "Sine",
    "Copy",
    "Cosine",
    "",
    "",
    "",
};

// True for pointwise convolutions that the runtime executes as a product. With one input and one output
// channel it remains a convolution.
bool is_product(const XnnNode& node) {
  if (!is_pointwise(node)) return false;
  const auto& window = node.get<Window>();
  return window.group_input_channels + window.group_output_channels > 2;
}

std::string_view name_of(NodeKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  CHECK(index < operator_names.size() && !operator_names[index].empty()) << kind_name(kind);
  return operator_names[index];
}

std::string_view operator_name(const XnnGraph& graph, const XnnNode& node) {
  if (node.kind == NodeKind::Multiply && node.inputs[0] == node.inputs[1]) return square;
  if (is_product(node)) return name_of(NodeKind::FullyConnected);
  if (node.kind == NodeKind::FullyConnected && !graph.values[node.inputs[1]].constant)
    return "Dynamic Fully Connected";
  return name_of(node.kind);
}

// True if the runtime clamps the node's result in a separate operator.
bool has_own_clamp(const XnnNode& node) {
  return node.is_clamped() && (is_binary(node.kind) || node.kind == NodeKind::GlobalAvgPooling2d);
}

class MapMaker {
 public:
  explicit MapMaker(const XnnGraph& graph) : graph_(graph), uses_(find_uses(graph)) {
    map_.reserve(graph.nodes.size());
  }

  DebugHandleMap run() {
    std::vector<bool> is_square_of_mean(graph_.nodes.size());
    for (const XnnNode& node : graph_.nodes) {
      if (const std::uint32_t before = square_before(node); before != no_value)
        is_square_of_mean[before] = true;
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!is_square_of_mean[i]) add_node(graph_.nodes[i]);
    }
    return std::move(map_);
  }

 private:
  // Returns the node whose squares this node averages in one operator, or no_value.
  std::uint32_t square_before(const XnnNode& node) const {
    if (node.kind != NodeKind::GlobalAvgPooling2d) return no_value;
    const ValueId input = node.inputs[0];
    const std::uint32_t before = uses_.producer[input];
    const bool is_alone = uses_.count[input] == 1;
    if (before == no_value || !is_alone || graph_.nodes[before].is_clamped()) return no_value;
    return operator_name(graph_, graph_.nodes[before]) == square ? before : no_value;
  }

  void add_node(const XnnNode& node) {
    const std::vector<std::uint32_t>* handles = &node.handles;
    std::vector<std::uint32_t> of_both;
    const std::uint32_t before = square_before(node);
    if (before != no_value) {
      of_both = node.handles;
      merge_handles(of_both, graph_.nodes[before].handles);
      handles = &of_both;
    }
    add(before == no_value ? operator_name(graph_, node) : mean_of_squares, *handles);
    if (has_own_clamp(node)) add(name_of(NodeKind::Clamp), *handles);
  }

  void add(std::string_view name, const std::vector<std::uint32_t>& handles) {
    const fmt::format_int count(++counts_[name]);
    if (handles.empty()) return;
    std::string text;
    text.reserve(name.size() + 2 + count.size());
    text.append(name).append(" #").append(count.data(), count.size());
    map_.emplace_back(std::move(text), handles);
  }

  const XnnGraph& graph_;
  GraphUses uses_;
  std::unordered_map<std::string_view, std::size_t> counts_;
  DebugHandleMap map_;
};

}  // namespace

DebugHandleMap debug_handles(const XnnGraph& graph) {
  return MapMaker(graph).run();
}

}  // namespace depute::xnnpack
