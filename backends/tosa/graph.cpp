#include "graph.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "ir/small_float.h"

namespace depute::tosa {
namespace {

// Sets of types, as bits by the wire format's numbers.
constexpr std::uint32_t bit(DType dtype) {
  return 1U << static_cast<std::uint32_t>(dtype);
}
constexpr std::uint32_t floats = bit(DType::F32) | bit(DType::F16) | bit(DType::BF16);
constexpr std::uint32_t small_integers = bit(DType::I8) | bit(DType::I16);
constexpr std::uint32_t integers = small_integers | bit(DType::I32);
constexpr std::uint32_t images = floats | small_integers;
constexpr std::uint32_t any = floats | integers | bit(DType::Bool);

struct TypeRow {
  DType dtype;
  std::string_view name;
  std::size_t bits;
};

constexpr std::array type_rows = {
    TypeRow{DType::Unknown, "unknown", 0}, TypeRow{DType::Bool, "bool", 8},    TypeRow{DType::I4, "i4", 4},
    TypeRow{DType::I8, "i8", 8},           TypeRow{DType::I16, "i16", 16},     TypeRow{DType::I32, "i32", 32},
    TypeRow{DType::I48, "i48", 48},        TypeRow{DType::F32, "f32", 32},     TypeRow{DType::F16, "f16", 16},
    TypeRow{DType::BF16, "bf16", 16},      TypeRow{DType::Shape, "shape", 64}, TypeRow{DType::I64, "i64", 64},
};

const TypeRow& row_of(DType dtype) {
  const auto* found = std::ranges::find(type_rows, dtype, &TypeRow::dtype);
  return found == type_rows.end() ? type_rows[0] : *found;
}

struct OpRow {
  std::string_view name;
  std::uint32_t types;
  std::uint32_t in_floats = 0;  // integers that the profile of floats has
};

// In the order of Op.
constexpr std::array rows = {
    OpRow{"UNKNOWN", 0},
    OpRow{"ARGMAX", images},
    OpRow{"AVG_POOL2D", images},
    OpRow{"CONV2D", images},
    OpRow{"CONV3D", images},
    OpRow{"DEPTHWISE_CONV2D", images},
    OpRow{"FFT2D", 0},
    OpRow{"MATMUL", images},
    OpRow{"MAX_POOL2D", images},
    OpRow{"RFFT2D", 0},
    OpRow{"TRANSPOSE_CONV2D", images},
    OpRow{"CLAMP", images},
    OpRow{"ERF", floats},
    OpRow{"SIGMOID", floats},
    OpRow{"TANH", floats},
    OpRow{"ADD", floats | bit(DType::I32), bit(DType::I32)},
    OpRow{"ARITHMETIC_RIGHT_SHIFT", integers},
    OpRow{"BITWISE_AND", integers},
    OpRow{"BITWISE_OR", integers},
    OpRow{"BITWISE_XOR", integers},
    OpRow{"INTDIV", bit(DType::I32), bit(DType::I32)},
    OpRow{"LOGICAL_AND", bit(DType::Bool)},
    OpRow{"LOGICAL_LEFT_SHIFT", integers, integers},
    OpRow{"LOGICAL_RIGHT_SHIFT", integers, integers},
    OpRow{"LOGICAL_OR", bit(DType::Bool)},
    OpRow{"LOGICAL_XOR", bit(DType::Bool)},
    OpRow{"MAXIMUM", floats | bit(DType::I32)},
    OpRow{"MINIMUM", floats | bit(DType::I32)},
    OpRow{"MUL", floats | integers, bit(DType::I32)},
    OpRow{"POW", floats},
    OpRow{"SUB", floats | bit(DType::I32), bit(DType::I32)},
    OpRow{"TABLE", small_integers},
    OpRow{"ABS", floats | bit(DType::I32)},
    OpRow{"BITWISE_NOT", integers},
    OpRow{"CEIL", floats},
    OpRow{"CLZ", bit(DType::I32)},
    OpRow{"COS", floats},
    OpRow{"EXP", floats},
    OpRow{"FLOOR", floats},
    OpRow{"LOG", floats},
    OpRow{"LOGICAL_NOT", bit(DType::Bool)},
    OpRow{"NEGATE", floats | integers},
    OpRow{"RECIPROCAL", floats},
    OpRow{"RSQRT", floats},
    OpRow{"SIN", floats},
    OpRow{"SELECT", any},
    OpRow{"EQUAL", floats | bit(DType::I32)},
    OpRow{"GREATER", floats | bit(DType::I32)},
    OpRow{"GREATER_EQUAL", floats | bit(DType::I32)},
    OpRow{"REDUCE_ALL", bit(DType::Bool)},
    OpRow{"REDUCE_ANY", bit(DType::Bool)},
    OpRow{"REDUCE_MAX", floats | integers},
    OpRow{"REDUCE_MIN", floats | integers},
    OpRow{"REDUCE_PRODUCT", floats},
    OpRow{"REDUCE_SUM", floats | bit(DType::I32)},
    OpRow{"CONCAT", any},
    OpRow{"PAD", any},
    OpRow{"RESHAPE", any},
    OpRow{"REVERSE", any},
    OpRow{"SLICE", any},
    OpRow{"TILE", any},
    OpRow{"TRANSPOSE", any},
    OpRow{"GATHER", floats | integers},
    OpRow{"SCATTER", floats | integers},
    OpRow{"RESIZE", images},
    OpRow{"CAST", any},
    OpRow{"RESCALE", integers | bit(DType::I48)},
    OpRow{"CONST", any},
    OpRow{"IDENTITY", any, integers},
    OpRow{"CUSTOM", 0},
    OpRow{"COND_IF", 0},
    OpRow{"WHILE_LOOP", 0},
    OpRow{"VARIABLE", 0},
    OpRow{"VARIABLE_WRITE", 0},
    OpRow{"VARIABLE_READ", 0},
    OpRow{"CONST_SHAPE", 0},
};

template <typename T>
std::vector<std::uint8_t> bytes_of(T value) {
  std::vector<std::uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <typename T>
T saturated(double value) {
  using Limits = std::numeric_limits<T>;
  return static_cast<T>(std::clamp<double>(value, Limits::min(), Limits::max()));
}

}  // namespace

std::string_view name(Op op) {
  const auto number = static_cast<std::size_t>(op);
  return number < rows.size() ? rows[number].name : rows[0].name;
}

std::string_view name(DType dtype) {
  return row_of(dtype).name;
}

std::string_view name(Profile profile) {
  return profile == Profile::All ? "FP+INT" : profile == Profile::Integers ? "INT" : "FP";
}

std::optional<DType> dtype_of(ScalarType type, Version version) {
  switch (type) {
    case ScalarType::I64:
      return version == Version::V1_0 ? std::nullopt : std::optional(DType::I64);
    case ScalarType::Bool:
      return DType::Bool;
    case ScalarType::I8:
      return DType::I8;
    case ScalarType::I16:
      return DType::I16;
    case ScalarType::I32:
      return DType::I32;
    case ScalarType::F32:
      return DType::F32;
    case ScalarType::F16:
      return DType::F16;
    case ScalarType::BF16:
      return DType::BF16;
    default:
      return std::nullopt;
  }
}

std::string_view known_types(Version version) {
  return version == Version::V1_0 ? "f32, f16, bf16, i32, i16, i8, bool"
                                  : "f32, f16, bf16, i64, i32, i16, i8, bool";
}

bool is_float(DType dtype) {
  return (floats & bit(dtype)) != 0;
}

std::size_t bit_count(DType dtype) {
  return row_of(dtype).bits;
}

// Operators that take i32 take i64 in 1.1, but for those of quantized numbers.
bool takes(Op op, DType dtype, Version version) {
  const std::uint32_t types = rows.at(static_cast<std::size_t>(op)).types;
  if (dtype == DType::I64)
    return version != Version::V1_0 && (types & bit(DType::I32)) != 0 && op != Op::Rescale;
  return (types & bit(dtype)) != 0;
}

bool has(Profile profile, Op op, DType computed, DType result) {
  switch (profile) {
    case Profile::All:
      return true;
    case Profile::Integers:
      return !is_float(computed) && !is_float(result);
    case Profile::Floats:
      if (is_float(computed) || computed == DType::I64 || result == DType::I64) return true;
      if (op == Op::Cast) return is_float(result) && computed != DType::Bool;
      return computed == DType::Bool ||
             (rows.at(static_cast<std::size_t>(op)).in_floats & bit(computed)) != 0;
  }
  return true;
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

DType accumulator(const TosaGraph& graph, const TosaOp& op) {
  const DType dtype = graph.tensors[op.inputs[0]].dtype;
  if (is_float(dtype)) return DType::F32;
  return dtype == DType::I16 && op.op != Op::AvgPool2d ? DType::I48 : DType::I32;
}

std::vector<std::uint8_t> bound_bytes(double bound, DType dtype) {
  switch (dtype) {
    case DType::F32:
      return bytes_of(static_cast<float>(bound));
    case DType::F16:
      return bytes_of(float_to_half(static_cast<float>(bound)));
    case DType::BF16:
      return bytes_of(encode_small_float(ScalarType::BF16, bound));
    case DType::I16:
      return bytes_of(saturated<std::int16_t>(bound));
    default:
      return bytes_of(saturated<std::int8_t>(bound));
  }
}

void remove_unused(TosaGraph& graph) {
  std::vector<bool> is_read(graph.tensors.size());
  for (const TensorId output : graph.outputs) is_read[output] = true;
  std::vector<TosaOp> kept;
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    const TosaOp& op = graph.ops[i];
    if (!is_read[op.output] &&
        std::ranges::none_of(op.more_outputs, [&](TensorId id) { return is_read[id]; }))
      continue;
    for (const TensorId input : op.inputs) is_read[input] = true;
    kept.push_back(std::move(graph.ops[i]));
  }
  std::ranges::reverse(kept);
  graph.ops = std::move(kept);
}

}  // namespace depute::tosa
