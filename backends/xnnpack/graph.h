// A delegate's graph in XNNPACK's terms: values (inputs, outputs, constants, in between) and nodes in order.
//
//   aten.convolution(%x, %w, ...), aten.relu(..)  ->  Conv2d(x, w) min 0
//
// First it is logical: sizes, permutations and axes are PyTorch's (NCHW). assign_layouts.h turns it into what
// lies in memory, and write_payload.h writes that.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "constant.h"
#include "depute/type.h"

namespace depute::xnnpack {

using ValueId = std::uint32_t;
inline constexpr ValueId no_value = 0xFFFFFFFF;
inline constexpr std::size_t max_rank = 6;          // of a tensor
inline constexpr std::size_t max_externals = 4096;  // arguments and results that the runtime allows

// Up to Cos the numbers are the wire format's.
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
  // Logical nodes, which become others before they are written.
  Concat,         // of any number of inputs
  Expand,         // a broadcast to the output's sizes
  ChannelAffine,  // x * scale[C] + shift[C] along dimension 1
};

// Flags of nodes.
inline constexpr std::uint32_t transpose_weights =
    0x1;  // FullyConnected: [in, out]; BatchMatrixMultiply: B^T
inline constexpr std::uint32_t align_corners = 0x8;
inline constexpr std::uint32_t keep_dims = 0x40;

// Convolution and pooling: a window that slides over two dimensions.
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
  std::vector<std::uint32_t> sizes;  // 0: the whole dimension
};

struct PadWidths {
  std::vector<std::uint32_t> before;
  std::vector<std::uint32_t> after;
  float value = 0;
};

struct Axis {  // Softmax, Concat: a dimension
  std::uint32_t dim = 0;
};

struct Axes {  // GlobalAvgPooling2d: the dimensions that are averaged, one or two
  std::vector<std::uint32_t> dims;
  bool stay = true;  // with size 1
};

struct Coefficient {  // Leaky, Elu
  float value = 0;
};

struct TargetSize {  // ResizeBilinear
  std::uint32_t height = 0;
  std::uint32_t width = 0;
};

// Order: Transpose, result dimension p is input dimension order[p].
using NodeParams =
    std::variant<std::monostate, Window, SliceRange, PadWidths, Order, Axis, Axes, Coefficient, TargetSize>;

// What integers stand for: scale * (integer - zero point).
struct TensorScale {
  float scale = 1;
  std::int32_t zero_point = 0;
  friend bool operator==(const TensorScale&, const TensorScale&) = default;
};
struct ChannelScales {  // one for each slice along `dim`; zero points are 0, or 8 of 4 bits
  Constant scales;
  std::size_t dim = 0;
  bool is_4bit = false;
};
struct GroupScales {  // of 4 bits: one, bf16, for each `size` elements of a row
  Constant scales;
  std::size_t size = 0;
};
struct TokenScales {       // found when the program runs, one for each slice
  std::uint32_t dims = 1;  // of a slice, the last ones: 1 is a row
};
using Quantisation = std::variant<std::monostate, TensorScale, ChannelScales, GroupScales, TokenScales>;

struct XnnValue {
  ScalarType dtype = ScalarType::F32;
  Dims sizes;
  Quantisation quantisation;  // of i8 and i32
  std::optional<Constant> constant;
  std::uint32_t external_id = no_value;
  bool is_input = false;   // of the delegate; external_id is its position among the arguments
  Order input_order;       // of a logical graph's input: how the caller lays it out
  bool is_output = false;  // the same
};

struct XnnNode {
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  NodeKind kind = NodeKind::None;  // None: deleted
  std::vector<ValueId> inputs;
  ValueId output = no_value;
  NodeParams params;
  float output_min = -infinity;
  float output_max = infinity;
  std::uint32_t flags = 0;
  bool quantises_input = false;        // a product: of rows, or of images, when the program runs
  std::vector<std::uint32_t> handles;  // debug handles of the program's nodes it stands for, ascending

  bool is_clamped() const { return output_min != -infinity || output_max != infinity; }
  template <typename T>
  const T& get() const {
    return std::get<T>(params);
  }
};

// A node that a rewrite makes in the place of `like`, whose debug handles it has.
XnnNode node_for(const XnnNode& like, NodeKind kind, std::vector<ValueId> inputs, ValueId output,
                 NodeParams params = {});

struct XnnGraph {
  std::vector<XnnValue> values;
  std::vector<XnnNode> nodes;  // every value is written before it is read
  // A logical graph's results in call order; a value may be there twice, or be an input.
  std::vector<ValueId> outputs;
  std::uint32_t first_output_id = 0;  // external id of outputs[0]

  ValueId add_value(ScalarType dtype, Dims sizes);
  // Of the element type and quantisation of another one.
  ValueId add_value_like(ValueId other, Dims sizes);
  ValueId add_constant(Constant constant);
};

bool is_binary(NodeKind kind);       // broadcasts two inputs, element by element
bool is_unary(NodeKind kind);        // one input, element by element
bool is_convolution(NodeKind kind);  // Conv2d, DepthwiseConv2d, ConvTranspose2d
bool can_clamp(NodeKind kind);       // has output_min and output_max

// A convolution of each pixel alone: what the runtime makes a product of rows of.
bool is_pointwise(const XnnNode& node);

// The same elements in other places; of integers as of the numbers they stand for.
bool moves_elements(NodeKind kind);  // Reshape, Transpose, Slice

// Where values come from and how often they are used, for passes over a graph.
struct GraphUses {
  std::vector<std::uint32_t> producer;  // index of the node, or no_value
  std::vector<std::uint32_t> count;     // as input of nodes, and as output of the graph
};
GraphUses find_uses(const XnnGraph& graph);

// Ascending union.
void merge_handles(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& from);
// Drops deleted nodes, and nodes whose results nobody reads.
void remove_unused(XnnGraph& graph);

}  // namespace depute::xnnpack
