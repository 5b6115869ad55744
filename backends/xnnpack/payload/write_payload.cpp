#include "payload/write_payload.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "payload/payload_header.h"
#include "payload_generated.h"
#include "support/check.h"

namespace depute::xnnpack {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr std::size_t alignment = 16;

// The wire type. Integer types include the number of bits and the kind of scales.
wire::DataType data_type(const XnnValue& value) {
  using enum wire::DataType;
  if (value.dtype == ScalarType::F32) return F32;
  if (value.dtype == ScalarType::F16) return F16;
  const bool has_channels = std::holds_alternative<ChannelScales>(value.quantization);
  if (value.dtype == ScalarType::I32) return has_channels ? QCInt32 : QInt32;
  CHECK(value.dtype == ScalarType::I8) << name(value.dtype);
  if (has_channels) return std::get<ChannelScales>(value.quantization).is_4bit ? QCInt4 : QCInt8;
  if (std::holds_alternative<GroupScales>(value.quantization)) return QBInt4;
  if (std::holds_alternative<TokenScales>(value.quantization)) return QDInt8;
  CHECK(std::holds_alternative<TensorScale>(value.quantization));
  return QInt8;
}

std::vector<std::uint32_t> to_numbers(const Order& order) {
  return {order.begin(), order.end()};
}

class Writer {
 public:
  explicit Writer(const XnnGraph& graph) : graph_(graph) {}
  Payload run();

 private:
  std::uint32_t constant_row(const Constant& constant);
  std::vector<std::uint32_t> bounds_of(const Dims& sizes) const;
  Offset<wire::Value> write_value(ValueId id);
  std::pair<wire::Quant, Offset<void>> write_quantization(const Quantization& quantization);
  Offset<wire::Node> write_node(const XnnNode& node, std::uint32_t index);
  Offset<void> write_body(const XnnNode& node);
  Offset<void> write_window(const XnnNode& node);
  Offset<void> write_concat(const XnnNode& node);
  Offset<void> write_reshape(const XnnNode& node);
  Offset<void> write_transpose(const XnnNode& node);
  void number_values();
  std::uint32_t number(ValueId id) const { return id == no_value ? no_value : numbers_[id]; }
  std::shared_ptr<const Storage> with_header() const;

  const XnnGraph& graph_;
  std::vector<std::uint32_t> numbers_;  // of values in the payload; no_value: not written
  FlatBufferBuilder builder_;
  std::unordered_map<std::string, std::uint32_t> rows_;
  std::vector<Offset<wire::Constant>> constants_;
  Payload payload_;
};

std::uint32_t Writer::constant_row(const Constant& constant) {
  std::string key = constant.key();
  auto [found, is_new] = rows_.try_emplace(key, static_cast<std::uint32_t>(constants_.size()));
  if (is_new) {
    std::shared_ptr<const Storage> storage = constant.storage();
    auto name = builder_.CreateString(key);
    constants_.push_back(wire::CreateConstant(builder_, ~std::uint64_t{0}, storage->size(), name));
    payload_.named_data.push_back({std::move(key), std::move(storage), alignment});
  }
  return found->second;
}

std::vector<std::uint32_t> Writer::bounds_of(const Dims& sizes) const {
  std::vector<std::uint32_t> bounds;
  for (const SymInt& size : sizes) {
    auto bound = upper_bound(size, graph_.ranges);
    CHECK(bound.has_value()) << size.str();
    bounds.push_back(*bound);
  }
  return bounds;
}

Offset<wire::Value> Writer::write_value(ValueId id) {
  const XnnValue& value = graph_.values[id];
  std::vector<std::uint32_t> dims = bounds_of(value.sizes);
  const std::uint32_t row = value.constant ? constant_row(*value.constant) : 0;
  const std::uint32_t flags = (value.is_input ? 1U : 0U) | (value.is_output ? 2U : 0U);
  auto tensor = wire::CreateTensorDirect(builder_, data_type(value), static_cast<std::uint32_t>(dims.size()),
                                         &dims, row, value.external_id, flags, numbers_[id]);
  if (std::holds_alternative<std::monostate>(value.quantization))
    return wire::CreateValue(builder_, wire::ValueUnion::Tensor, tensor.Union());
  const auto [kind, body] = write_quantization(value.quantization);
  auto quantized = wire::CreateQuantTensor(builder_, tensor, kind, body);
  return wire::CreateValue(builder_, wire::ValueUnion::QuantTensor, quantized.Union());
}

// Scales are written as constants. The schema also requires the inline list, which is left empty.
std::pair<wire::Quant, Offset<void>> Writer::write_quantization(const Quantization& quantization) {
  const std::vector<float> none;
  const auto count = [](const Constant& scales) { return static_cast<std::uint32_t>(numel(scales)); };
  if (const auto* tensor = std::get_if<TensorScale>(&quantization)) {
    return {wire::Quant::TensorQuant,
            wire::CreateTensorQuant(builder_, tensor->scale, tensor->zero_point).Union()};
  }
  if (const auto* channels = std::get_if<ChannelScales>(&quantization)) {
    const std::uint32_t row = constant_row(channels->scales);
    return {wire::Quant::ChannelQuant,
            wire::CreateChannelQuantDirect(builder_, &none, static_cast<std::int32_t>(channels->dim), row,
                                           count(channels->scales))
                .Union()};
  }
  if (const auto* groups = std::get_if<GroupScales>(&quantization)) {
    const std::uint32_t row = constant_row(groups->scales);
    return {wire::Quant::GroupQuant,
            wire::CreateGroupQuantDirect(builder_, &none, 0, static_cast<std::int32_t>(groups->size), row,
                                         count(groups->scales))
                .Union()};
  }
  const auto dims = static_cast<std::int32_t>(std::get<TokenScales>(quantization).dims);
  return {wire::Quant::TokenQuant, wire::CreateTokenQuant(builder_, dims).Union()};
}

Offset<void> Writer::write_window(const XnnNode& node) {
  const auto& w = node.get<Window>();
  if (!is_convolution(node.kind)) {
    return wire::CreatePooling(builder_, w.padding_top, w.padding_right, w.padding_bottom, w.padding_left,
                               w.kernel.height, w.kernel.width, w.stride.height, w.stride.width,
                               w.dilation.height, w.dilation.width, number(node.inputs[0]),
                               number(node.output), node.flags)
        .Union();
  }
  return wire::CreateConvolution(builder_, w.padding_top, w.padding_right, w.padding_bottom, w.padding_left,
                                 w.kernel.height, w.kernel.width, w.stride.height, w.stride.width,
                                 w.dilation.height, w.dilation.width, w.group_input_channels,
                                 w.group_output_channels, w.groups, w.adjustment.height, w.adjustment.width,
                                 number(node.inputs[0]), number(node.inputs[1]), number(node.inputs[2]),
                                 number(node.output), node.flags)
      .Union();
}

Offset<void> Writer::write_concat(const XnnNode& node) {
  std::array<ValueId, 5> inputs;
  inputs.fill(no_value);
  std::ranges::transform(node.inputs, inputs.begin(), [&](ValueId id) { return number(id); });
  return wire::CreateConcat(builder_, node.get<Axis>().dim, inputs[0], inputs[1], inputs[2], inputs[3],
                            number(node.output), node.flags, inputs[4])
      .Union();
}

// A symbolic size is written as 0, which the runtime infers; there is one at most.
Offset<void> Writer::write_reshape(const XnnNode& node) {
  std::vector<std::uint32_t> shape;
  for (const SymInt& size : graph_.values[node.output].sizes) {
    shape.push_back(size.is_constant() ? static_cast<std::uint32_t>(size.value()) : 0);
  }
  return wire::CreateReshapeDirect(builder_, static_cast<std::uint32_t>(shape.size()), &shape,
                                   number(node.inputs[0]), number(node.output), node.flags)
      .Union();
}

Offset<void> Writer::write_transpose(const XnnNode& node) {
  std::vector<std::uint32_t> perm = to_numbers(node.get<Order>());
  return wire::CreateTransposeDirect(builder_, static_cast<std::uint32_t>(perm.size()), &perm,
                                     number(node.inputs[0]), number(node.output), node.flags)
      .Union();
}

Offset<void> Writer::write_body(const XnnNode& node) {
  using enum NodeKind;
  switch (node.kind) {
    case FullyConnected:
      return wire::CreateFullyConnected(builder_, number(node.inputs[0]), number(node.inputs[1]),
                                        number(node.inputs[2]), number(node.output), node.flags)
          .Union();
    case Transpose:
      return write_transpose(node);
    case ResizeBilinear: {
      const auto& size = node.get<TargetSize>();
      return wire::CreateResizeBilinear(builder_, size.height, size.width, number(node.inputs[0]),
                                        number(node.output), node.flags)
          .Union();
    }
    case ConstantPad: {
      const auto& pad = node.get<PadWidths>();
      return wire::CreateConstantPadDirect(builder_, &pad.before, &pad.after, pad.value,
                                           number(node.inputs[0]), number(node.output), node.flags)
          .Union();
    }
    case Slice: {
      const auto& range = node.get<SliceRange>();
      return wire::CreateSliceDirect(builder_, static_cast<std::uint32_t>(range.offsets.size()),
                                     &range.offsets, &range.sizes, number(node.inputs[0]),
                                     number(node.output), node.flags)
          .Union();
    }
    case Leaky:
      return wire::CreateLeaky(builder_, node.get<Coefficient>().value, number(node.inputs[0]),
                               number(node.output), node.flags)
          .Union();
    case Elu:
      return wire::CreateElu(builder_, node.get<Coefficient>().value, number(node.inputs[0]),
                             number(node.output), node.flags)
          .Union();
    case Reshape:
      return write_reshape(node);
    case Concat2:
    case Concat3:
    case Concat4:
    case Concat5:
      return write_concat(node);
    case Conv2d:
    case DepthwiseConv2d:
    case ConvTranspose2d:
    case AvgPooling2d:
    case MaxPooling2d:
      return write_window(node);
    default:
      break;
  }
  if (is_binary(node.kind) || node.kind == BatchMatrixMultiply) {
    return wire::CreateBinary(builder_, number(node.inputs[0]), number(node.inputs[1]), number(node.output),
                              node.flags)
        .Union();
  }
  CHECK(is_unary(node.kind) || node.kind == Softmax || node.kind == GlobalAvgPooling2d)
      << static_cast<int>(node.kind);
  return wire::CreateUnary(builder_, number(node.inputs[0]), number(node.output), node.flags).Union();
}

Offset<wire::Node> Writer::write_node(const XnnNode& node, std::uint32_t index) {
  Offset<void> body = write_body(node);
  Offset<wire::OutputRange> range;
  if (node.is_clamped()) range = wire::CreateOutputRange(builder_, node.output_min, node.output_max);
  return wire::CreateNode(builder_, static_cast<wire::NodeUnion>(node.kind), body, index, range);
}

// Passes leave values that no node uses. Viewers of payloads take the number of a value for its index among those that
// are written.
void Writer::number_values() {
  numbers_.assign(graph_.values.size(), no_value);
  for (const XnnNode& node : graph_.nodes) {
    numbers_[node.output] = 0;
    for (ValueId input : node.inputs) {
      if (input != no_value) numbers_[input] = 0;
    }
  }
  std::uint32_t next = 0;
  for (std::uint32_t& number : numbers_) {
    if (number != no_value) number = next++;
  }
}

std::shared_ptr<const Storage> Writer::with_header() const {
  const std::size_t size = builder_.GetSize();
  const std::size_t padded = flatbuffer_offset + (size + alignment - 1) / alignment * alignment;
  std::vector<std::byte> bytes(padded);
  auto put = [&](std::size_t offset, std::uint64_t number, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) bytes[offset + i] = static_cast<std::byte>(number >> (8 * i));
  };
  std::memcpy(bytes.data() + magic_position, magic.data(), magic.size());
  put(length_position, header_length, 2);
  put(offset_position, flatbuffer_offset, 4);
  put(size_position, size, 4);
  put(constants_position, padded, 4);
  put(constants_size_position, 0, 8);
  std::memcpy(bytes.data() + flatbuffer_offset, builder_.GetBufferPointer(), size);
  return Storage::owned(std::move(bytes));
}

Payload Writer::run() {
  builder_.ForceDefaults(false);
  constants_.push_back(wire::CreateConstant(builder_));  // row 0
  std::vector<Offset<wire::Value>> values;
  std::vector<std::uint32_t> inputs;
  std::vector<std::uint32_t> outputs;
  number_values();
  for (ValueId id = 0; id < graph_.values.size(); ++id) {
    if (numbers_[id] == no_value) continue;
    values.push_back(write_value(id));
    if (graph_.values[id].is_input) inputs.push_back(numbers_[id]);
    if (graph_.values[id].is_output) outputs.push_back(numbers_[id]);
  }
  std::vector<Offset<wire::Node>> nodes;
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) nodes.push_back(write_node(graph_.nodes[i], i));
  std::uint32_t external_count = 0;
  for (const XnnValue& value : graph_.values) {
    if (value.external_id != no_value) external_count = std::max(external_count, value.external_id + 1);
  }
  auto root =
      wire::CreateGraphDirect(builder_, "0", &nodes, &values, external_count, &inputs, &outputs, &constants_);
  wire::FinishGraphBuffer(builder_, root);
  payload_.bytes = with_header();
  return std::move(payload_);
}

}  // namespace

Payload write_payload(const XnnGraph& graph) {
  return Writer(graph).run();
}

std::optional<std::uint32_t> upper_bound(const SymInt& size, const Ranges& ranges) {
  const std::int64_t bound = size.is_constant() ? size.value() : bounds(size, ranges).max;
  if (bound < 0 || bound > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(bound);
}

}  // namespace depute::xnnpack
