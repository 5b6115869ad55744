// A delegate's graph in XNNPACK's terms: values (inputs, outputs, constants, others) and ordered nodes.
//
//   aten.convolution(%x, %w, ...), aten.relu(..)  ->  Conv2d(x, w) min 0
//
// The graph is logical at first: sizes, permutations and axes are PyTorch's (NCHW). assign_layouts.h converts
// it to the physical graph, and write_payload.h writes that.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "lower/weights/constant.h"
#include "depute/program/type.h"

namespace depute::xnnpack {

using weights::Bytes;
using weights::BytesFunction;
using weights::Constant;
using weights::ElementFunction;
using weights::NarrowFunction;
using weights::Order;
using weights::compose;
using weights::computed;
using weights::constant_of;
using weights::converted;
using weights::dequantized;
using weights::filled;
using weights::identity_order;
using weights::integers_of;
using weights::inverse;
using weights::is_identity;
using weights::narrowed;
using weights::nhwc;
using weights::numel;
using weights::permuted;
using weights::repeated;
using weights::reshaped;
using weights::reshaped_order;
using weights::same_elements;
using weights::scaled;
using weights::to_f32;
using weights::to_floats;

using ValueId = std::uint32_t;
inline constexpr ValueId no_value = 0xFFFFFFFF;
inline constexpr std::size_t max_rank = 6;          // maximum rank of a tensor
inline constexpr std::size_t max_externals = 4096;  // maximum number of arguments and results in the runtime

// Up to Cos the values equal those of the wire format.
enum class NodeKind : std::uint8_t {
  None,
  Add,
  FullyConnected,
  Softmax,
  Sigmoid,
  Transpose,
  Clamp,
  Conv2d,
  Div,
  ResizeBilinear,
  ConstantPad,
  AvgPooling2d,
  Minimum,
  DepthwiseConv2d,
  MaxPooling2d,
  Multiply,
  Subtract,
  Floor,
  Convert,
  GlobalAvgPooling2d,
  Reshape,
  ArgMaxPooling,
  SquareRoot,
  Ceiling,
  Hardswish,
  Leaky,
  Maximum,
  Negate,
  Square,
  Elu,
  Abs,
  PRelu,
  Concat2,
  Concat3,
  Concat4,
  Slice,
  Attention,
  BatchMatrixMultiply,
  Concat5,
  ConvTranspose2d,
  ReciprocalSquareRoot,
  Log,
  Gelu,
  Tanh,
  Exp,
  Sin,
  Copy,
  Cos,
  // Logical nodes, which are replaced before writing.
  Concat,         // any number of inputs
  Expand,         // a broadcast to the output's sizes
  ChannelAffine,  // x * scale[C] + shift[C] along dimension 1
};

// Flags of nodes.
inline constexpr std::uint32_t transpose_weights =
    0x1;  // transposes FullyConnected's filter ([in, out]) or BatchMatrixMultiply's B
inline constexpr std::uint32_t align_corners = 0x8;
inline constexpr std::uint32_t keep_dims = 0x40;

// A window that slides over two dimensions, for convolution and pooling.
struct Window {
  struct Pair {
    std::uint32_t height = 0;
    std::uint32_t width = 0;
  };
  std::uint32_t padding_top = 0;
  std::uint32_t padding_right = 0;
  std::uint32_t padding_bottom = 0;
  std::uint32_t padding_left = 0;
  Pair kernel{1, 1};
  Pair stride{1, 1};
  Pair dilation{1, 1};
  Pair adjustment;  // ConvTranspose2d: rows and columns added to the output
  std::uint32_t groups = 1;
  std::uint32_t group_input_channels = 0;
  std::uint32_t group_output_channels = 0;
};

struct SliceRange {
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint32_t> sizes;  // 0 means the whole dimension
};

struct PadWidths {
  std::vector<std::uint32_t> before;
  std::vector<std::uint32_t> after;
  float value = 0;
};

struct Axis {  // Softmax, Concat
  std::uint32_t dim = 0;
};

struct Axes {  // GlobalAvgPooling2d: one or two averaged dimensions
  std::vector<std::uint32_t> dims;
  bool stay = true;  // true: they stay with size 1
};

struct Coefficient {  // Leaky, Elu
  float value = 0;
};

struct TargetSize {  // ResizeBilinear
  std::uint32_t height = 0;
  std::uint32_t width = 0;
};

// An Order is for Transpose: result dimension p is input dimension order[p].
using NodeParams =
    std::variant<std::monostate, Window, SliceRange, PadWidths, Order, Axis, Axes, Coefficient, TargetSize>;

// An integer represents scale * (integer - zero_point).
struct TensorScale {
  float scale = 1;
  std::int32_t zero_point = 0;
  friend bool operator==(const TensorScale&, const TensorScale&) = default;
};
struct ChannelScales {  // one per slice along `dim`; zero points are 0, or 8 for 4 bits
  Constant scales;
  std::size_t dim = 0;
  bool is_4bit = false;
};
struct GroupScales {  // 4 bits: one bf16 scale per `size` elements of a row
  Constant scales;
  std::size_t size = 0;
};
struct TokenScales {       // dynamic, one per slice
  std::uint32_t dims = 1;  // number of trailing dimensions in a slice; 1 is a row
};
using Quantization = std::variant<std::monostate, TensorScale, ChannelScales, GroupScales, TokenScales>;

struct XnnValue {
  ScalarType dtype = ScalarType::F32;
  Dims sizes;
  Quantization quantization;  // for i8 and i32
  std::optional<Constant> constant;
  std::uint32_t external_id = no_value;
  bool is_input = false;   // input of the delegate; external_id is its position among the arguments
  Order input_order;       // for inputs of a logical graph: the caller's memory order
  bool is_output = false;  // output of the delegate; external_id is its position
};

struct XnnNode {
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  NodeKind kind = NodeKind::None;  // None means deleted
  std::vector<ValueId> inputs;
  ValueId output = no_value;
  NodeParams params;
  float output_min = -infinity;
  float output_max = infinity;
  std::uint32_t flags = 0;
  bool quantizes_input = false;        // for products: input is dynamically quantized per row or image
  std::vector<std::uint32_t> handles;  // debug handles of the program's nodes, ascending

  bool is_clamped() const { return output_min != -infinity || output_max != infinity; }
  template <typename T>
  const T& get() const {
    return std::get<T>(params);
  }
};

// Returns a node that replaces `like` and has its debug handles.
XnnNode node_for(const XnnNode& like, NodeKind kind, std::vector<ValueId> inputs, ValueId output,
                 NodeParams params = {});

struct XnnGraph;

// Returns a node that copies a value and is not elementwise, for a result that is to be set.
XnnNode plain_copy(const XnnGraph& graph, const XnnNode& like, ValueId from);

struct XnnGraph {
  std::vector<XnnValue> values;
  std::vector<XnnNode> nodes;  // values are written before they are read
  // For a logical graph: results in call order. A value may occur twice, or be an input.
  std::vector<ValueId> outputs;
  std::uint32_t first_output_id = 0;  // external id of outputs[0]
  Ranges ranges;                      // of the symbols in sizes

  ValueId add_value(ScalarType dtype, Dims sizes);
  // Adds a value with the element type and quantization of `other`.
  ValueId add_value_like(ValueId other, Dims sizes);
  ValueId add_constant(Constant constant);
};

bool is_binary(NodeKind kind);       // elementwise with two inputs, which are broadcast
bool is_unary(NodeKind kind);        // elementwise with one input
bool is_convolution(NodeKind kind);  // Conv2d, DepthwiseConv2d, ConvTranspose2d
bool can_clamp(NodeKind kind);       // has output_min and output_max

// True for a convolution of single pixels, which the runtime executes as a product of rows.
bool is_pointwise(const XnnNode& node);

// True if the node only moves elements, so that it also works on quantized integers.
bool moves_elements(NodeKind kind);  // Reshape, Transpose, Slice

// Producers and use counts of values, for passes over a graph.
struct GraphUses {
  std::vector<std::uint32_t> producer;  // index of the node, or no_value
  std::vector<std::uint32_t> count;     // uses as input of nodes and as output of the graph
};
GraphUses find_uses(const XnnGraph& graph);

std::size_t symbolic_count(const Dims& sizes);  // sizes known only at run time
bool may_be_empty(const Dims& sizes, const Ranges& ranges);
// Whether an operand has as many elements as its result, to whose sizes it is broadcast.
enum class Fit : std::uint8_t { Always, ForSomeSizes, Never };
Fit fit_of(const Dims& operand, const Dims& result, const Ranges& ranges);

// Merges into an ascending list without duplicates.
void merge_handles(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& from);
// Removes deleted nodes, and nodes whose results are unused.
void remove_unused(XnnGraph& graph);

}  // namespace depute::xnnpack
