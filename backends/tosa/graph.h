// A delegate's graph in TOSA's terms: tensors with known sizes, and operators in the order in which they run.
//
//   aten.relu.default(%x)   ->   x: f32[1, 8]   relu = CLAMP(x) {min 0, max inf}
//
// Constants are views of the program's data, and are written by CONST. Shapes (the sizes of a RESHAPE) are tensors of
// the type Shape. Bodies of control flow are graphs of their own. write_graph.h writes the flatbuffer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "depute/program/name.h"
#include "depute/program/small_vector.h"
#include "depute/program/type.h"
#include "lower/weights/constant.h"
#include "partition/refusal.h"

namespace depute::tosa {

using weights::Constant;
using weights::Order;

// Numbers of the wire format.
enum class DType : std::uint32_t { Unknown, Bool, I4, I8, I16, I32, I48, F32, F16, BF16, Shape, I64 = 17 };

// Operators, with the numbers of the wire format.
enum class Op : std::uint32_t {
  Unknown,
  ArgMax,
  AvgPool2d,
  Conv2d,
  Conv3d,
  DepthwiseConv2d,
  Fft2d,
  MatMul,
  MaxPool2d,
  RFft2d,
  TransposeConv2d,
  Clamp,
  Erf,
  Sigmoid,
  Tanh,
  Add,
  ArithmeticRightShift,
  BitwiseAnd,
  BitwiseOr,
  BitwiseXor,
  IntDiv,
  LogicalAnd,
  LogicalLeftShift,
  LogicalRightShift,
  LogicalOr,
  LogicalXor,
  Maximum,
  Minimum,
  Mul,
  Pow,
  Sub,
  Table,
  Abs,
  BitwiseNot,
  Ceil,
  Clz,
  Cos,
  Exp,
  Floor,
  Log,
  LogicalNot,
  Negate,
  Reciprocal,
  Rsqrt,
  Sin,
  Select,
  Equal,
  Greater,
  GreaterEqual,
  ReduceAll,
  ReduceAny,
  ReduceMax,
  ReduceMin,
  ReduceProduct,
  ReduceSum,
  Concat,
  Pad,
  Reshape,
  Reverse,
  Slice,
  Tile,
  Transpose,
  Gather,
  Scatter,
  Resize,
  Cast,
  Rescale,
  Const,
  Identity,
  Custom,
  CondIf,
  WhileLoop,
  Variable,
  VariableWrite,
  VariableRead,
  ConstShape,
};

std::string_view name(Op op);  // the name in the specification: "CONV2D"
std::string_view name(DType dtype);
bool is_float(DType dtype);
std::size_t bit_count(DType dtype);
// The type in which integers are computed: i32, of i64 itself.
inline DType wide_integer(DType dtype) {
  return dtype == DType::I64 ? DType::I64 : DType::I32;
}

// The operators that a graph may have.
enum class Profile : std::uint8_t {
  All,       // PRO-INT and PRO-FP
  Integers,  // PRO-INT: none that computes or moves floats
  Floats,    // PRO-FP: of integers sums, products, and conversions from and to floats alone, but for i64
};

// The version of the specification.
enum class Version : std::uint8_t {
  V1_0,
  V1_1,  // a draft: with integers of 64 bits (EXT-INT64)
};

struct TosaGraph;
struct TosaOp;

// Returns why a processor does not take an operator, whose tensors are in the graph.
using Limit = std::optional<rules::Refusal> (*)(const TosaGraph& graph, const TosaOp& op);

// The processor that a graph is for: its profile, and what it lacks.
struct Device {
  Profile profile = Profile::All;
  Version version = Version::V1_0;
  Limit limit = nullptr;       // null: the processor takes all
  std::size_t moved_dims = 6;  // of a TRANSPOSE; of more, those that stay side by side become one
  bool control_flow = false;   // COND_IF and WHILE_LOOP
};

// Returns nullopt for types that TOSA does not have.
std::optional<DType> dtype_of(ScalarType type, Version version);
std::string_view known_types(Version version);  // those of dtype_of()

// True if the operator computes results of this type: of Rescale and Cast the input's type, of the comparisons the
// operands' type.
bool takes(Op op, DType dtype, Version version);
// True if a graph of the profile may have the operator, which computes this type and has results of the other one.
bool has(Profile profile, Op op, DType computed, DType result);
std::string_view name(Profile profile);  // "INT", "FP", "FP+INT"

using Shape = SmallVector<std::int64_t, 6>;
using TensorId = std::uint32_t;
inline constexpr std::size_t max_rank = 6;  // limits of the level 8K
inline constexpr std::int64_t max_kernel = 8192;
inline constexpr std::size_t max_list = 64;

std::int64_t element_count(const Shape& shape);

struct Axis {
  std::int32_t axis = 0;
};
struct
    Window {  // pad: before and after each dimension in turn; of TransposeConv2d what is added to the result
  std::vector<std::int32_t> kernel, stride, pad, dilation;
};
struct Limits {  // Clamp
  double min = 0;
  double max = 0;
};
struct Permutation {
  std::vector<std::int32_t> perms;
};
enum class ResizeMode : std::uint32_t { Nearest = 1, Bilinear };
struct ResizeBy {
  ResizeMode mode = ResizeMode::Nearest;
};
enum class Rounding : std::uint32_t { Single = 1, Inexact, Double };
struct RescaleBy {
  bool scale32 = true;
  Rounding rounding = Rounding::Single;
  bool per_channel = false;
};
struct Shift {
  bool round = false;
};
struct Bodies {  // names of graphs: of CondIf for true and false, of WhileLoop the test and the iteration
  std::string first, second;
};
using Attributes =
    std::variant<std::monostate, Axis, Window, Limits, Permutation, ResizeBy, RescaleBy, Shift, Bodies>;

struct TosaTensor {
  DType dtype = DType::F32;
  Shape shape;  // as the tensor lies in memory
  std::string name;
  std::optional<Constant> constant;
  std::vector<std::int64_t> numbers;  // of the type Shape
};

struct TosaOp {
  Op op = Op::Unknown;
  std::vector<TensorId> inputs;
  TensorId output = 0;
  std::vector<TensorId> more_outputs;  // of CondIf and WhileLoop
  Attributes attributes;
  std::vector<std::uint32_t> handles;  // debug handles of the program's nodes, ascending
};

struct TosaGraph {
  std::string name = "main";  // of a body "@" and its name in the program
  Version version = Version::V1_0;
  std::vector<TosaTensor> tensors;
  std::vector<TosaOp> ops;  // without those of constants
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<TosaGraph> bodies;  // those of bodies, too; they have none themselves
};

// The type in which a convolution or an average adds up.
DType accumulator(const TosaGraph& graph, const TosaOp& op);
// The bytes of a limit of a CLAMP whose result has this type. Integers are at most the type's.
std::vector<std::uint8_t> bound_bytes(double bound, DType dtype);

// Makes the PAD of a convolution's input a part of the convolution:
//
//   p = PAD(x, [0, 0, 1, 1, 1, 1, 0, 0])
//   CONV2D(p, ...) pad [0, 0, 0, 0]        ->   CONV2D(x, ...) pad [1, 1, 1, 1]
void fold_pads(TosaGraph& graph);
// Removes operators whose results are not read.
void remove_unused(TosaGraph& graph);

}  // namespace depute::tosa
