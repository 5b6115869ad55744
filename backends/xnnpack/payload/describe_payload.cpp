#include "payload/describe_payload.h"

#include <fmt/format.h>

#include <unordered_map>

#include "ir/text/text.h"
#include "node_text.h"
#include "payload/payload_header.h"
#include "payload/read_payload.h"
#include "support/try.h"

namespace depute::xnnpack {
namespace {

std::string type_name(wire::DataType type) {
  using enum wire::DataType;
  switch (type) {
    case Invalid:
      return "invalid";
    case F32:
      return "f32";
    case F16:
      return "f16";
    case QInt8:
      return "qint8";
    case QUInt8:
      return "quint8";
    case QInt32:
      return "qint32";
    case QCInt8:
      return "qcint8";
    case QCInt32:
      return "qcint32";
    case QCInt4:
      return "qcint4";
    case QDInt8:
      return "qdint8";
    case QBInt4:
      return "qbint4";
    case QPInt8:
      return "qpint8";
    case Int32:
      return "i32";
    case PF32:
      return "pf32";
    case BF16:
      return "bf16";
  }
  return fmt::format("type {}", static_cast<int>(type));
}

std::string scales_text(std::uint32_t row, std::size_t inline_count) {
  return row != 0 ? fmt::format("of constant {}", row) : fmt::format("of {} numbers", inline_count);
}

template <typename List>
std::size_t size_of(const List* list) {
  return list == nullptr ? 0 : list->size();
}

std::string quantization_text(const wire::QuantTensor& value) {
  if (const auto* tensor = value.quant_as_TensorQuant())
    return fmt::format(" scale {} zero {}", tensor->scale(), tensor->zero_point());
  if (const auto* channels = value.quant_as_ChannelQuant()) {
    return fmt::format(" scales {} {}", channels->channel_dim(),
                       scales_text(channels->scale_constant(), size_of(channels->scale())));
  }
  if (const auto* groups = value.quant_as_GroupQuant()) {
    return fmt::format(" scales {} /{} {}", groups->channel_dim(), groups->group_size(),
                       scales_text(groups->scale_constant(), size_of(groups->scale())));
  }
  const auto* rows = value.quant_as_TokenQuant();
  return rows->nonbatch_dims() == 1 ? " rows" : fmt::format(" rows of {} dimensions", rows->nonbatch_dims());
}

std::string type_text(const wire::Value& value) {
  const wire::Tensor& tensor = tensor_of(value);
  const wire::QuantTensor* quantized = quantized_of(value);
  return type_name(tensor.datatype()) + numbers_text(numbers(tensor.dims())) +
         (quantized == nullptr ? "" : quantization_text(*quantized));
}

// Converts the attributes of each table to those of the graph.
struct ReadParams {
  template <typename Table>
  static Window window(const Table& node) {
    return {.padding_top = node.padding_top(),
            .padding_right = node.padding_right(),
            .padding_bottom = node.padding_bottom(),
            .padding_left = node.padding_left(),
            .kernel = {node.kernel_height(), node.kernel_width()}};
  }
  template <typename Table>
  static Window moving_window(const Table& node) {
    Window result = window(node);
    result.stride = {node.stride_height(), node.stride_width()};
    result.dilation = {node.dilation_height(), node.dilation_width()};
    return result;
  }
  static std::vector<std::uint32_t> list(const flatbuffers::Vector<std::uint32_t>* of) {
    return {numbers(of).begin(), numbers(of).end()};
  }

  NodeParams operator()(const wire::Convolution& node) const {
    Window result = moving_window(node);
    result.adjustment = {node.adjustment_height(), node.adjustment_width()};
    result.groups = node.groups();
    result.group_input_channels = node.group_input_channels();
    result.group_output_channels = node.group_output_channels();
    return result;
  }
  NodeParams operator()(const wire::Pooling& node) const { return moving_window(node); }
  NodeParams operator()(const wire::ArgMaxPooling& node) const { return window(node); }
  NodeParams operator()(const wire::Slice& node) const {
    return SliceRange{list(node.offsets()), list(node.sizes())};
  }
  NodeParams operator()(const wire::ConstantPad& node) const {
    return PadWidths{list(node.before()), list(node.after()), node.value()};
  }
  NodeParams operator()(const wire::Transpose& node) const {
    return Order(numbers(node.perm()).begin(), numbers(node.perm()).end());
  }
  NodeParams operator()(const wire::Concat& node) const { return Axis{node.axis()}; }
  NodeParams operator()(const wire::Leaky& node) const { return Coefficient{node.slope()}; }
  NodeParams operator()(const wire::Elu& node) const { return Coefficient{node.alpha()}; }
  NodeParams operator()(const wire::ResizeBilinear& node) const {
    return TargetSize{node.height(), node.width()};
  }
  template <typename Table>
  NodeParams operator()(const Table&) const {
    return {};
  }
};

std::string operand_text(std::uint32_t id) {
  return id == no_value ? "none" : fmt::format("%{}", id);
}

std::string list_text(std::span<const std::uint32_t> ids) {
  std::string text;
  for (std::uint32_t id : ids) text += (text.empty() ? "" : ", ") + operand_text(id);
  return text;
}

class Describer {
 public:
  explicit Describer(const OpenPayload& payload) : graph_(*payload.graph) {
    for (const wire::Value* value : *graph_.values()) values_.emplace(tensor_of(*value).id(), value);
  }

  std::string run() {
    add_constants();
    for (const wire::Value* value : *graph_.values()) add_given(*value);
    for (const wire::Node* node : *graph_.nodes()) add_node(*node);
    for (const wire::Value* value : *graph_.values()) add_output(tensor_of(*value));
    return std::move(text_);
  }

 private:
  void add_constants() {
    for (std::uint32_t row = 1; row < size_of(graph_.constants()); ++row) {
      const wire::Constant& constant = *graph_.constants()->Get(row);
      text_ += fmt::format("constant {}: {} bytes, ", row, constant.size());
      text_ += constant.key() != nullptr ? text::quoted(constant.key()->string_view())
                                         : fmt::format("inline at {}", constant.offset());
      text_ += "\n";
    }
  }

  // Prints constants and inputs.
  void add_given(const wire::Value& value) {
    const wire::Tensor& tensor = tensor_of(value);
    const std::string start = fmt::format("%{}: {} = ", tensor.id(), type_text(value));
    if (tensor.constant() != 0) text_ += start + fmt::format("constant {}\n", tensor.constant());
    if ((tensor.flags() & 1) != 0) text_ += start + fmt::format("input {}\n", tensor.external_id());
  }

  void add_output(const wire::Tensor& tensor) {
    if ((tensor.flags() & 2) != 0)
      text_ += fmt::format("output {} = %{}\n", tensor.external_id(), tensor.id());
  }

  void add_node(const wire::Node& node) {
    const Operands operands = operands_of(node);
    for (std::uint32_t id : operands.outputs()) {
      auto value = values_.find(id);
      text_ += (id == operands.output_ids[0] ? "" : ", ") + operand_text(id) + ": " +
               (value == values_.end() ? "no value" : type_text(*value->second));
    }
    text_ += operands.outputs().empty() ? "" : " = ";
    text_ += kind_name(static_cast<NodeKind>(node.node_type())) + "(" + list_text(operands.inputs());
    NodeParams params;
    std::uint32_t flags = 0;
    visit_body(node, [&](const auto& table) {
      params = ReadParams()(table);
      flags = table.flags();
    });
    text_ += params_text(params);
    if (const auto* reshape = node.node_as_Reshape()) text_ += ", " + numbers_text(numbers(reshape->shape()));
    const wire::OutputRange* range = node.output_range();
    text_ += range == nullptr ? flags_text(flags, -XnnNode::infinity, XnnNode::infinity)
                              : flags_text(flags, range->min(), range->max());
    text_ += fmt::format(") #{}\n", node.debug_handle());
  }

  const wire::Graph& graph_;
  std::unordered_map<std::uint32_t, const wire::Value*> values_;  // by id
  std::string text_;
};

// The newest kinds of node and of element type: the runtime half knows all up to a number.
std::vector<PayloadNeed> payload_needs(const wire::Graph& graph) {
  PayloadNeed node{.kind = "node"};
  PayloadNeed type{.kind = "type"};
  for (const wire::Node* each : *graph.nodes())
    node.number = std::max<std::uint64_t>(node.number, static_cast<std::uint8_t>(each->node_type()));
  for (const wire::Value* each : *graph.values())
    type.number =
        std::max<std::uint64_t>(type.number, static_cast<std::uint16_t>(tensor_of(*each).datatype()));
  node.name = kind_name(static_cast<NodeKind>(node.number));
  type.name = type_name(static_cast<wire::DataType>(type.number));
  return {node, type};
}

}  // namespace

Result<std::string> describe_payload(std::span<const std::byte> payload) {
  TRY(OpenPayload open, open_payload(payload));
  return Describer(open).run();
}

Result<PayloadLayout> payload_layout(std::span<const std::byte> payload) {
  TRY(const OpenPayload open, open_payload(payload));
  using Kind = PayloadPart::Kind;
  PayloadLayout layout;
  const auto place = [&](std::span<const std::byte> part) {
    return static_cast<std::uint64_t>(part.data() - payload.data());
  };
  layout.parts = {
      {.offset = 0, .bytes = header_length, .kind = Kind::Header, .name = {}},
      {.offset = place(open.flatbuffer), .bytes = open.flatbuffer.size(), .kind = Kind::Tables, .name = {}}};
  layout.needs = payload_needs(*open.graph);
  std::unordered_map<std::uint32_t, const wire::Value*> users;  // constant -> the first value that uses it
  for (const wire::Value* value : *open.graph->values()) users.emplace(tensor_of(*value).constant(), value);
  for (std::uint32_t row = 1; row < size_of(open.graph->constants()); ++row) {
    const wire::Constant& constant = *open.graph->constants()->Get(row);
    if (constant.key() != nullptr) {
      layout.data_keys.push_back(constant.key()->str());
      continue;
    }
    const std::uint64_t room = open.constants.size();
    if (constant.offset() > room || constant.size() > room - constant.offset()) {
      return failure("xnnpack", fmt::format("constants[{}]", row),
                     fmt::format("{} bytes at {} of {}", constant.size(), constant.offset(), room));
    }
    const auto user = users.find(row);
    std::string name = fmt::format("constant {}", row);
    if (user != users.end()) name += ", " + type_text(*user->second);
    layout.parts.push_back({.offset = place(open.constants) + constant.offset(),
                            .bytes = constant.size(),
                            .kind = Kind::Constant,
                            .name = std::move(name)});
  }
  return layout;
}

}  // namespace depute::xnnpack
