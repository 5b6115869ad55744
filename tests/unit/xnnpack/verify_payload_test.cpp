// One sound payload with most kinds of values and nodes, and what is found when one thing in it is changed.
#include "backends/xnnpack/payload/verify_payload.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "backends/xnnpack/graph.h"
#include "backends/xnnpack/payload/describe_payload.h"
#include "backends/xnnpack/payload/payload_header.h"
#include "depute/program/data.h"
#include "payload_generated.h"

namespace depute::xnnpack {
namespace {

using Dims = std::vector<std::uint32_t>;
using wire::DataType;
using wire::NodeUnion;

constexpr std::uint32_t none = no_value;

// Writes all fields, also those that have their default, so that each can be changed.
class Builder {
 public:
  Builder() {
    builder_.ForceDefaults(true);
    constants_.push_back(wire::CreateConstant(builder_));
  }

  std::uint32_t row(std::uint64_t bytes) {
    const std::string key = "k" + std::to_string(constants_.size());
    auto name = builder_.CreateString(key);
    constants_.push_back(wire::CreateConstant(builder_, ~std::uint64_t{0}, bytes, name));
    data_.push_back({key, Storage::zeros(bytes), 16});
    return static_cast<std::uint32_t>(constants_.size() - 1);
  }

  auto tensor(DataType type, const Dims& dims, std::uint32_t row = 0, std::uint32_t external = none,
              std::uint32_t flags = 0) {
    return wire::CreateTensorDirect(builder_, type, static_cast<std::uint32_t>(dims.size()), &dims, row,
                                    external, flags, next_++);
  }
  void number(const Dims& dims, std::uint32_t row = 0, std::uint32_t external = none,
              std::uint32_t flags = 0) {
    add(wire::ValueUnion::Tensor, tensor(DataType::F32, dims, row, external, flags).Union());
  }
  template <typename Quant>
  void integer(wire::Quant kind, Quant quant, DataType type, const Dims& dims, std::uint32_t row = 0,
               std::uint32_t external = none, std::uint32_t flags = 0) {
    auto of = tensor(type, dims, row, external, flags);
    add(wire::ValueUnion::QuantTensor, wire::CreateQuantTensor(builder_, of, kind, quant.Union()).Union());
  }
  void scaled(const Dims& dims, std::uint32_t external = none, std::uint32_t flags = 0) {
    integer(wire::Quant::TensorQuant, wire::CreateTensorQuant(builder_, 0.5F, 3), DataType::QInt8, dims, 0,
            external, flags);
  }
  void rows(const Dims& dims) {
    integer(wire::Quant::TokenQuant, wire::CreateTokenQuant(builder_, 1), DataType::QDInt8, dims);
  }

  template <typename Body>
  void node(NodeUnion kind, Body body, bool is_clamped = false) {
    flatbuffers::Offset<wire::OutputRange> range;
    if (is_clamped) range = wire::CreateOutputRange(builder_, 0, 6);
    nodes_.push_back(
        wire::CreateNode(builder_, kind, body.Union(), static_cast<std::uint32_t>(nodes_.size()), range));
  }

  std::vector<std::byte> finish(std::uint32_t externals) {
    auto root =
        wire::CreateGraphDirect(builder_, "0", &nodes_, &values_, externals, nullptr, nullptr, &constants_);
    wire::FinishGraphBuffer(builder_, root);
    const std::uint32_t size = builder_.GetSize();
    const std::uint32_t end = (32 + size + 15) / 16 * 16;
    std::vector<std::byte> bytes(end);
    std::memcpy(bytes.data() + magic_position, magic.data(), magic.size());
    const std::uint32_t start = 32;
    std::memcpy(bytes.data() + offset_position, &start, 4);
    std::memcpy(bytes.data() + size_position, &size, 4);
    std::memcpy(bytes.data() + constants_position, &end, 4);
    std::memcpy(bytes.data() + 32, builder_.GetBufferPointer(), size);
    return bytes;
  }

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<NamedData> data_;

 private:
  void add(wire::ValueUnion kind, flatbuffers::Offset<void> body) {
    values_.push_back(wire::CreateValue(builder_, kind, body));
  }

  std::uint32_t next_ = 0;
  std::vector<flatbuffers::Offset<wire::Constant>> constants_;
  std::vector<flatbuffers::Offset<wire::Value>> values_;
  std::vector<flatbuffers::Offset<wire::Node>> nodes_;
};

struct Sample {
  std::vector<std::byte> bytes;
  std::vector<NamedData> data;

  wire::Graph& graph() { return *wire::GetMutableGraph(bytes.data() + 32); }
  auto fault(const std::vector<bool>& varies = {}) const { return find_payload_fault(bytes, data, varies); }
};

Sample make_sample() {
  using enum NodeUnion;
  Builder b;
  auto& fb = b.builder_;
  b.number({1, 6, 6, 2}, 0, 0, 1);            // 0
  b.number({4, 3, 3, 2}, b.row(4 * 18 * 4));  // 1
  b.number({4}, b.row(16));                   // 2
  b.number({1, 4, 4, 4});                     // 3
  b.number({1, 4, 4, 4});                     // 4
  b.number({16, 4});                          // 5
  b.rows({16, 4});                            // 6
  const std::vector<float> empty;
  const std::uint32_t scales = b.row(20);
  b.integer(wire::Quant::ChannelQuant, wire::CreateChannelQuantDirect(fb, &empty, 0, scales, 5),
            DataType::QCInt8, {5, 4}, b.row(20));  // 7
  b.number({5}, b.row(20));                        // 8
  b.number({16, 5}, 0, 1, 2);                      // 9
  b.scaled({2, 64}, 2, 1);                         // 10
  const std::uint32_t group_scales = b.row(12);
  b.integer(wire::Quant::GroupQuant, wire::CreateGroupQuantDirect(fb, &empty, 0, 32, group_scales, 6),
            DataType::QBInt4, {3, 64}, b.row(96));  // 11
  b.scaled({2, 64});                                // 12
  b.number({2, 64});                                // 13
  b.rows({2, 64});                                  // 14
  b.number({2, 3}, 0, 3, 2);                        // 15
  b.scaled({2, 10});                                // 16
  b.scaled({2, 20}, 4, 2);                          // 17
  b.number({1, 2, 2, 4});                           // 18
  b.number({1, 1, 1, 4}, 0, 5, 2);                  // 19
  b.number({1, 3, 2, 4});                           // 20
  b.number({1, 5, 7, 4}, 0, 7, 2);                  // 21
  b.number({4, 6}, b.row(96));                      // 22
  b.number({16, 6});                                // 23
  b.number({16, 6}, 0, 6, 2);                       // 24
  b.number({16, 6});                                // 25, which nothing uses

  const Dims perm = {0, 3, 1, 2};
  const Dims shape = {0, 4};
  const Dims offsets = {0, 5};
  const Dims sizes = {0, 10};
  const Dims before = {0, 0, 0, 0};
  const Dims after = {0, 1, 0, 0};
  b.node(Conv2d, wire::CreateConvolution(fb, 0, 0, 0, 0, 3, 3, 1, 1, 1, 1, 2, 4, 1, 0, 0, 0, 1, 2, 3, 0),
         true);
  b.node(Transpose, wire::CreateTransposeDirect(fb, 4, &perm, 3, 4, 0));
  b.node(Reshape, wire::CreateReshapeDirect(fb, 2, &shape, 4, 5, 0));
  b.node(Convert, wire::CreateUnary(fb, 5, 6, 0));
  b.node(FullyConnected, wire::CreateFullyConnected(fb, 6, 7, 8, 9, 0));
  b.node(Add, wire::CreateBinary(fb, 10, 10, 12, 0));
  b.node(Convert, wire::CreateUnary(fb, 12, 13, 0));
  b.node(Convert, wire::CreateUnary(fb, 13, 14, 0));
  b.node(FullyConnected, wire::CreateFullyConnected(fb, 14, 11, none, 15, 0));
  b.node(Slice, wire::CreateSliceDirect(fb, 2, &offsets, &sizes, 12, 16, 0));
  b.node(Concat2, wire::CreateConcat(fb, 1, 16, 16, none, none, 17, 0, none));
  b.node(MaxPooling2d, wire::CreatePooling(fb, 0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 3, 18, 0));
  b.node(GlobalAvgPooling2d, wire::CreateUnary(fb, 18, 19, keep_dims));
  b.node(ConstantPad, wire::CreateConstantPadDirect(fb, &before, &after, 0, 18, 20, 0));
  b.node(ResizeBilinear, wire::CreateResizeBilinear(fb, 5, 7, 20, 21, 0));
  b.node(BatchMatrixMultiply, wire::CreateBinary(fb, 5, 22, 23, 0));
  b.node(Clamp, wire::CreateUnary(fb, 23, 24, 0), true);
  std::vector<std::byte> bytes = b.finish(8);
  return {std::move(bytes), std::move(b.data_)};
}

wire::QuantTensor& quantized(wire::Graph& graph, std::uint32_t id) {
  return *static_cast<wire::QuantTensor*>(graph.mutable_values()->GetMutableObject(id)->mutable_value());
}
wire::Tensor& tensor(wire::Graph& graph, std::uint32_t id) {
  wire::Value& value = *graph.mutable_values()->GetMutableObject(id);
  if (value.value_type() == wire::ValueUnion::QuantTensor) return *quantized(graph, id).mutable_tensor();
  return *static_cast<wire::Tensor*>(value.mutable_value());
}
template <typename Quant>
Quant& quant(wire::Graph& graph, std::uint32_t id) {
  return *static_cast<Quant*>(quantized(graph, id).mutable_quant());
}
wire::Node& node(wire::Graph& graph, std::uint32_t index) {
  return *graph.mutable_nodes()->GetMutableObject(index);
}
void set_kind(wire::Graph& graph, std::uint32_t index, NodeUnion kind) {
  auto& table = reinterpret_cast<flatbuffers::Table&>(node(graph, index));
  ASSERT_TRUE(table.SetField(wire::Node::VT_NODE_TYPE, static_cast<std::uint8_t>(kind), std::uint8_t{0}));
}
template <typename Table>
Table& body(wire::Graph& graph, std::uint32_t index) {
  return *static_cast<Table*>(node(graph, index).mutable_node());
}
void set_dim(wire::Graph& graph, std::uint32_t id, std::uint32_t i, std::uint32_t size) {
  tensor(graph, id).mutable_dims()->Mutate(i, size);
}
// A table that is mutated says whether it has the field.
void must(bool has_field) {
  ASSERT_TRUE(has_field);
}

struct Wrong {
  const char* message;
  std::function<void(wire::Graph&)> edit;
};

// clang-format off
const Wrong wrongs[] = {
    // The whole
    {"5000 arguments and results; the limit is 4096", [](auto& g) { must(g.mutate_external_count(5000)); }},
    {"constant 0: row 0 must be empty", [](auto& g) { must(g.mutable_constants()->GetMutableObject(0)->mutate_size(4)); }},
    {"constant 1: has both a name and an offset in the payload", [](auto& g) { must(g.mutable_constants()->GetMutableObject(1)->mutate_offset(0)); }},
    {"constant 1: is declared with 280 bytes, but its data has 288", [](auto& g) { must(g.mutable_constants()->GetMutableObject(1)->mutate_size(280)); }},
    {"constant 1: no named data has its key", [](auto& g) { const_cast<char*>(g.constants()->Get(1)->key()->c_str())[0] = 'x'; }},
    // Values
    {"value %4: duplicate id", [](auto& g) { must(tensor(g, 5).mutate_id(4)); }},
    {"a value has the reserved id for no value", [](auto& g) { must(tensor(g, 24).mutate_id(none)); }},
    {"value %3: rank 3, but 4 dimensions", [](auto& g) { must(tensor(g, 3).mutate_rank(3)); }},
    {"value %3: has no elements", [](auto& g) { set_dim(g, 3, 1, 0); }},
    {"value %3: has too many elements", [](auto& g) { for (int i = 0; i < 4; ++i) set_dim(g, 3, i, 1U << 20); }},
    {"value %0: flags 0x9", [](auto& g) { must(tensor(g, 0).mutate_flags(9)); }},
    {"value %0: is both an argument and a result", [](auto& g) { must(tensor(g, 0).mutate_flags(3)); }},
    {"value %0: an external id and an external flag must occur together", [](auto& g) { must(tensor(g, 0).mutate_flags(0)); }},
    {"value %3: an external id and an external flag must occur together", [](auto& g) { must(tensor(g, 3).mutate_flags(2)); }},
    {"value %0: external id 8 is out of range for 8", [](auto& g) { must(tensor(g, 0).mutate_external_id(8)); }},
    {"value %9: duplicate external id 0", [](auto& g) { must(tensor(g, 9).mutate_external_id(0)); }},
    {"value %0: has a type that arguments and results cannot have", [](auto& g) { must(tensor(g, 0).mutate_datatype(DataType::Int32)); }},
    {"value %3: integers without a scale", [](auto& g) { must(tensor(g, 3).mutate_datatype(DataType::QInt8)); }},
    {"value %12: its type does not support a single scale", [](auto& g) { must(tensor(g, 12).mutate_datatype(DataType::QCInt8)); }},
    {"value %12: scale 0", [](auto& g) { must(quant<wire::TensorQuant>(g, 12).mutate_scale(0)); }},
    {"value %12: scale -1", [](auto& g) { must(quant<wire::TensorQuant>(g, 12).mutate_scale(-1)); }},
    {"value %12: scale inf", [](auto& g) { must(quant<wire::TensorQuant>(g, 12).mutate_scale(std::numeric_limits<float>::infinity())); }},
    {"value %12: zero point 128", [](auto& g) { must(quant<wire::TensorQuant>(g, 12).mutate_zero_point(128)); }},
    {"value %7: its type does not support scales per channel", [](auto& g) { must(tensor(g, 7).mutate_datatype(DataType::QInt8)); }},
    {"value %7: unsupported scales along dimension 2", [](auto& g) { must(quant<wire::ChannelQuant>(g, 7).mutate_channel_dim(2)); }},
    {"value %7: 4 scales in 20 bytes; expected 5", [](auto& g) { must(quant<wire::ChannelQuant>(g, 7).mutate_scale_count(4)); }},
    {"value %7: its scales must be a constant", [](auto& g) { must(quant<wire::ChannelQuant>(g, 7).mutate_scale_constant(0)); }},
    {"value %11: its type does not support scales per group", [](auto& g) { must(tensor(g, 11).mutate_datatype(DataType::QCInt4)); }},
    {"value %11: groups of 48 do not divide rows of 64", [](auto& g) { must(quant<wire::GroupQuant>(g, 11).mutate_group_size(48)); }},
    {"value %11: unsupported scales along dimension 1", [](auto& g) { must(quant<wire::GroupQuant>(g, 11).mutate_channel_dim(1)); }},
    {"value %11: 5 scales in 12 bytes; expected 6", [](auto& g) { must(quant<wire::GroupQuant>(g, 11).mutate_scale_count(5)); }},
    {"value %6: its type does not support scales per row", [](auto& g) { must(tensor(g, 6).mutate_datatype(DataType::QInt8)); }},
    {"value %6: unsupported rows of 3 dimensions", [](auto& g) { must(quant<wire::TokenQuant>(g, 6).mutate_nonbatch_dims(3)); }},
    {"value %6: a constant is quantized at run time", [](auto& g) { must(tensor(g, 6).mutate_constant(1)); }},
    {"value %7: has a type that only constants can have", [](auto& g) { must(tensor(g, 7).mutate_constant(0)); }},
    {"value %1: constant 99 does not exist", [](auto& g) { must(tensor(g, 1).mutate_constant(99)); }},
    {"value %2: has 288 bytes; expected 16", [](auto& g) { must(tensor(g, 2).mutate_constant(1)); }},
    {"value %0: a constant is an argument or a result", [](auto& g) { must(tensor(g, 0).mutate_constant(1)); }},
    // Nodes
    {"node 5, Attention: a node kind that Depute does not write", [](auto& g) { set_kind(g, 5, NodeUnion::Attention); }},
    {"node 0, Conv2d: operand 0 is not a value", [](auto& g) { must(body<wire::Convolution>(g, 0).mutate_input(77)); }},
    {"node 0, Conv2d: operand %3 is not computed yet", [](auto& g) { must(body<wire::Convolution>(g, 0).mutate_input(3)); }},
    {"node 5, Add: operand 1 is not a value", [](auto& g) { must(body<wire::Binary>(g, 5).mutate_right(none)); }},
    {"node 1, Transpose: its result %3 is already computed", [](auto& g) { must(body<wire::Transpose>(g, 1).mutate_output(3)); }},
    {"node 1, Transpose: its result %0 is already computed", [](auto& g) { must(body<wire::Transpose>(g, 1).mutate_output(0)); }},
    {"node 1, Transpose: its result %77 is not a value", [](auto& g) { must(body<wire::Transpose>(g, 1).mutate_output(77)); }},
    {"node 15, BatchMatrixMultiply: operand %1 is freed after another node packs it", [](auto& g) { must(body<wire::Binary>(g, 15).mutate_right(1)); }},
    {"node 16, Clamp: bounds nan..6", [](auto& g) { must(node(g, 16).mutable_output_range()->mutate_min(std::numeric_limits<float>::quiet_NaN())); }},
    {"node 0, Conv2d: bounds 7..6", [](auto& g) { must(node(g, 0).mutable_output_range()->mutate_min(7)); }},
    {"node 6, Clamp: it has no bounds", [](auto& g) { set_kind(g, 6, NodeUnion::Clamp); }},
    {"node 16, Sigmoid: its bounds are ignored by the runtime", [](auto& g) { set_kind(g, 16, NodeUnion::Sigmoid); }},
    {"node 0, Conv2d: flags 0x1", [](auto& g) { must(body<wire::Convolution>(g, 0).mutate_flags(1)); }},
    {"node 12, GlobalAvgPooling2d: its result has the shape [1, 4], but [1, 1, 1, 4] is declared", [](auto& g) { must(body<wire::Unary>(g, 12).mutate_flags(0)); }},
    {"node 3, Abs: its types are mixed", [](auto& g) { set_kind(g, 3, NodeUnion::Abs); }},
    {"node 6, Convert: no conversion of these types", [](auto& g) { must(tensor(g, 12).mutate_datatype(DataType::QInt8)); must(body<wire::Unary>(g, 6).mutate_input(6)); }},
    {"node 5, Div: it does not support this type", [](auto& g) { set_kind(g, 5, NodeUnion::Div); }},
    {"node 4, FullyConnected: unsupported types of a product", [](auto& g) { must(body<wire::FullyConnected>(g, 4).mutate_input(5)); }},
    {"node 0, Conv2d: its filter must be a constant", [](auto& g) { must(body<wire::Convolution>(g, 0).mutate_filter(0)); }},
    {"node 4, FullyConnected: its filter has unsupported scales along dimension 0", [](auto& g) { must(body<wire::FullyConnected>(g, 4).mutate_flags(transpose_weights)); }},
    {"node 5, Add: the ratio of its scales is out of range", [](auto& g) { must(quant<wire::TensorQuant>(g, 12).mutate_scale(1e-6F)); }},
    {"node 9, Slice: its scales differ", [](auto& g) { must(quant<wire::TensorQuant>(g, 16).mutate_scale(0.25F)); }},
    {"node 9, Slice: its scales differ", [](auto& g) { must(quant<wire::TensorQuant>(g, 16).mutate_zero_point(4)); }},
    {"value %24: no node computes this result", [](auto& g) { must(body<wire::Unary>(g, 16).mutate_output(25)); }},
    // Shapes
    {"node 0, Conv2d: its result has the shape [1, 4, 4, 4], but [1, 5, 4, 4] is declared", [](auto& g) { set_dim(g, 3, 1, 5); }},
    {"node 0, Conv2d: got 2 input channels; expected 6", [](auto& g) { must(body<wire::Convolution>(g, 0).mutate_groups(3)); }},
    {"node 0, Conv2d: a window size is 0", [](auto& g) { must(body<wire::Convolution>(g, 0).mutate_stride_width(0)); }},
    {"node 0, Conv2d: it has no groups or channels", [](auto& g) { must(body<wire::Convolution>(g, 0).mutate_group_input_channels(0)); }},
    {"node 0, Conv2d: its filter of [4, 3, 3, 2] does not match its window and channels", [](auto& g) { must(body<wire::Convolution>(g, 0).mutate_kernel_width(2)); }},
    {"node 0, DepthwiseConv2d: got 2 channels per group; expected 1", [](auto& g) { set_kind(g, 0, NodeUnion::DepthwiseConv2d); }},
    {"node 0, Conv2d: its window is larger than the padded input", [](auto& g) { must(body<wire::Convolution>(g, 0).mutate_dilation_height(9)); }},
    {"node 0, Conv2d: an adjustment that the runtime ignores", [](auto& g) { must(body<wire::Convolution>(g, 0).mutate_adjustment_width(1)); }},
    {"node 0, Conv2d: its result has the shape [1, 5, 4, 4], but [1, 4, 4, 4] is declared", [](auto& g) { must(body<wire::Convolution>(g, 0).mutate_padding_top(1)); }},
    {"node 0, ConvTranspose2d: its result has the shape [1, 8, 8, 4], but [1, 4, 4, 4] is declared", [](auto& g) { set_kind(g, 0, NodeUnion::ConvTranspose2d); }},
    {"node 1, Transpose: [0, 3, 3, 2] is not a permutation", [](auto& g) { body<wire::Transpose>(g, 1).mutable_perm()->Mutate(2, 3); }},
    {"node 1, Transpose: the permutation must have one entry per dimension", [](auto& g) { must(body<wire::Transpose>(g, 1).mutate_rank(3)); }},
    {"node 2, Reshape: 64 elements do not match [0, 5]", [](auto& g) { body<wire::Reshape>(g, 2).mutable_shape()->Mutate(1, 5); }},
    {"node 2, Reshape: more than one size is inferred", [](auto& g) { body<wire::Reshape>(g, 2).mutable_shape()->Mutate(1, 0); }},
    {"node 2, Reshape: its result has the shape [32, 2], but [16, 4] is declared", [](auto& g) { body<wire::Reshape>(g, 2).mutable_shape()->Mutate(1, 2); }},
    {"node 8, FullyConnected: rows of 64 do not match a filter of [5, 4]", [](auto& g) { must(body<wire::FullyConnected>(g, 8).mutate_filter(7)); }},
    {"node 4, FullyConnected: its bias has the shape [4]; expected [5]", [](auto& g) { must(body<wire::FullyConnected>(g, 4).mutate_bias(2)); }},
    {"node 9, Slice: 10 elements from index 60 exceed size 64", [](auto& g) { body<wire::Slice>(g, 9).mutable_offsets()->Mutate(1, 60); }},
    {"node 10, Concat2: axis 2 is out of range for rank 2", [](auto& g) { must(body<wire::Concat>(g, 10).mutate_axis(2)); }},
    {"node 10, Concat2: its result has the shape [4, 10], but [2, 20] is declared", [](auto& g) { must(body<wire::Concat>(g, 10).mutate_axis(0)); }},
    {"node 10, Concat2: its operands have different sizes", [](auto& g) { must(body<wire::Concat>(g, 10).mutate_axis(0)); must(body<wire::Concat>(g, 10).mutate_input2(12)); }},
    {"node 11, AvgPooling2d: a dilation that the runtime ignores", [](auto& g) { set_kind(g, 11, NodeUnion::AvgPooling2d); must(body<wire::Pooling>(g, 11).mutate_dilation_height(2)); }},
    {"node 13, ConstantPad: its result has the shape [1, 4, 2, 4], but [1, 3, 2, 4] is declared", [](auto& g) { body<wire::ConstantPad>(g, 13).mutable_before()->Mutate(1, 1); }},
    {"node 14, ResizeBilinear: the size 0x7 is out of range", [](auto& g) { must(body<wire::ResizeBilinear>(g, 14).mutate_height(0)); }},
    {"node 15, BatchMatrixMultiply: the inner sizes of its matrices differ", [](auto& g) { must(body<wire::Binary>(g, 15).mutate_flags(transpose_weights)); }},
    {"node 15, Add: its operands do not broadcast", [](auto& g) { set_kind(g, 15, NodeUnion::Add); }},
};
// clang-format on

TEST(VerifyPayload, TakesTheSample) {
  Sample sample = make_sample();
  auto fault = sample.fault();
  EXPECT_FALSE(fault) << fault->message;
}

TEST(VerifyPayload, FindsEachFault) {
  for (const Wrong& wrong : wrongs) {
    Sample sample = make_sample();
    wrong.edit(sample.graph());
    auto fault = sample.fault();
    ASSERT_TRUE(fault) << wrong.message;
    EXPECT_EQ(fault->message, wrong.message);
  }
}

TEST(VerifyPayload, ComparesOnlyRanksWhereSizesVary) {
  Sample sample = make_sample();
  set_dim(sample.graph(), 3, 1, 5);
  EXPECT_TRUE(sample.fault());
  std::vector<bool> varies(4, false);
  varies[3] = true;
  auto fault = sample.fault(varies);
  EXPECT_FALSE(fault) << fault->message;
}

TEST(VerifyPayload, NamesTheNode) {
  Sample sample = make_sample();
  must(body<wire::Concat>(sample.graph(), 10).mutate_axis(2));
  EXPECT_EQ(sample.fault()->node, 10U);
}

TEST(VerifyPayload, RefusesWhatIsNoPayload) {
  Sample sample = make_sample();
  sample.bytes.resize(100);
  EXPECT_EQ(sample.fault()->message.substr(0, 8), "byte 10:");
}

TEST(DescribePayload, TellsEachThing) {
  auto text = describe_payload(make_sample().bytes);
  ASSERT_TRUE(text) << text.error().str();
  EXPECT_EQ(*text, R"(constant 1: 288 bytes, "k1"
constant 2: 16 bytes, "k2"
constant 3: 20 bytes, "k3"
constant 4: 20 bytes, "k4"
constant 5: 20 bytes, "k5"
constant 6: 12 bytes, "k6"
constant 7: 96 bytes, "k7"
constant 8: 96 bytes, "k8"
%0: f32[1, 6, 6, 2] = input 0
%1: f32[4, 3, 3, 2] = constant 1
%2: f32[4] = constant 2
%7: qcint8[5, 4] scales 0 of constant 3 = constant 4
%8: f32[5] = constant 5
%10: qint8[2, 64] scale 0.5 zero 3 = input 2
%11: qbint4[3, 64] scales 0 /32 of constant 6 = constant 7
%22: f32[4, 6] = constant 8
%3: f32[1, 4, 4, 4] = Conv2d(%0, %1, %2, kernel 3x3, groups 1 x 2 -> 4, clamp 0..6) #0
%4: f32[1, 4, 4, 4] = Transpose(%3, [0, 3, 1, 2]) #1
%5: f32[16, 4] = Reshape(%4, [0, 4]) #2
%6: qdint8[16, 4] rows = Convert(%5) #3
%9: f32[16, 5] = FullyConnected(%6, %7, %8) #4
%12: qint8[2, 64] scale 0.5 zero 3 = Add(%10, %10) #5
%13: f32[2, 64] = Convert(%12) #6
%14: qdint8[2, 64] rows = Convert(%13) #7
%15: f32[2, 3] = FullyConnected(%14, %11, none) #8
%16: qint8[2, 10] scale 0.5 zero 3 = Slice(%12, offsets [0, 5], sizes [0, 10]) #9
%17: qint8[2, 20] scale 0.5 zero 3 = Concat2(%16, %16, axis 1) #10
%18: f32[1, 2, 2, 4] = MaxPooling2d(%3, kernel 2x2, stride 2x2) #11
%19: f32[1, 1, 1, 4] = GlobalAvgPooling2d(%18) #12
%20: f32[1, 3, 2, 4] = ConstantPad(%18, before [0, 0, 0, 0], after [0, 1, 0, 0], value 0) #13
%21: f32[1, 5, 7, 4] = ResizeBilinear(%20, 5x7) #14
%23: f32[16, 6] = BatchMatrixMultiply(%5, %22) #15
%24: f32[16, 6] = Clamp(%23, clamp 0..6) #16
output 1 = %9
output 3 = %15
output 4 = %17
output 5 = %19
output 7 = %21
output 6 = %24
)");
}

// Nothing that is changed in the bytes may crash the reader.
TEST(DescribePayload, ReadsAnyBytes) {
  const std::vector<std::byte> sound = make_sample().bytes;
  for (std::size_t size = 0; size < sound.size(); size += 7) {
    std::vector<std::byte> cut(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(describe_payload(cut)) << size;
  }
  int refused = 0;
  for (std::size_t place = 0; place < sound.size(); ++place) {
    for (unsigned bits : {0x01U, 0x80U, 0xFFU}) {
      std::vector<std::byte> changed = sound;
      changed[place] ^= static_cast<std::byte>(bits);
      refused += describe_payload(changed) ? 0 : 1;
      (void)find_payload_fault(changed, {});
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace depute::xnnpack
