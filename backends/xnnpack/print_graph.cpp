#include "print_graph.h"

#include <fmt/format.h>

#include "node_text.h"

namespace depute::xnnpack {
namespace {

struct ScaleText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(const TensorScale& of) const {
    return fmt::format(" scale {} zero {}", of.scale, of.zero_point);
  }
  std::string operator()(const ChannelScales& of) const {
    return fmt::format(" {}scales {} \"{}\"", of.is_4bit ? "4 bit " : "", of.dim, of.scales.key());
  }
  std::string operator()(const GroupScales& of) const {
    return fmt::format(" 4 bit scales /{} \"{}\"", of.size, of.scales.key());
  }
  std::string operator()(const TokenScales& scales) const {
    return scales.dims == 1 ? " rows" : fmt::format(" rows of {} dimensions", scales.dims);
  }
};

std::string type_text(const XnnValue& value) {
  return str(make_tensor(value.dtype, value.sizes)) + std::visit(ScaleText{}, value.quantization);
}

std::string operand_text(const XnnGraph& graph, ValueId id) {
  if (id == no_value) return "none";
  const XnnValue& value = graph.values[id];
  if (!value.constant) return fmt::format("%{}", id);
  return fmt::format("\"{}\": {}", value.constant->key(), type_text(value));
}

}  // namespace

std::string print_graph(const XnnGraph& graph) {
  std::string text;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const XnnValue& value = graph.values[id];
    if (value.is_input) text += fmt::format("%{}: {} = input {}\n", id, type_text(value), value.external_id);
  }
  for (const XnnNode& node : graph.nodes) {
    text +=
        fmt::format("%{}: {} = {}(", node.output, type_text(graph.values[node.output]), kind_name(node.kind));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      text += (i == 0 ? "" : ", ") + operand_text(graph, node.inputs[i]);
    }
    text += params_text(node.params) + flags_text(node.flags, node.output_min, node.output_max) + ")";
    for (std::uint32_t handle : node.handles) text += fmt::format(" #{}", handle);
    text += "\n";
  }
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const XnnValue& value = graph.values[id];
    if (value.is_output) text += fmt::format("output {} = %{}\n", value.external_id, id);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    text += fmt::format("output {} = {}\n", graph.first_output_id + i, operand_text(graph, graph.outputs[i]));
  }
  return text;
}

}  // namespace depute::xnnpack
