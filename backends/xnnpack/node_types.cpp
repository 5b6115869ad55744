#include "node_types.h"

#include <algorithm>
#include <array>
#include <span>

namespace depute::xnnpack {
namespace {

using enum wire::DataType;

struct ProductTypes {
  wire::DataType input;
  wire::DataType filter;
  wire::DataType bias;
  wire::DataType output;
};

// The runtime lacks a kernel on some machines for f16 results of 4-bit rows with one scale each. With i8 or
// 4-bit weights and an f32 input, the runtime would multiply an f32 bias by the weights' scales.
constexpr std::array linear_types = {
    ProductTypes{F32, F32, F32, F32},
    ProductTypes{F16, F32, F32, F16},
    ProductTypes{F16, F16, F16, F16},
    ProductTypes{F32, F16, F16, F32},
    ProductTypes{F32, F16, F32, F32},
    ProductTypes{F32, QCInt8, Invalid, F32},
    ProductTypes{F32, QCInt4, Invalid, F32},
    ProductTypes{QDInt8, QCInt8, F32, F32},
    ProductTypes{QDInt8, QCInt8, F32, F16},
    ProductTypes{QDInt8, QCInt4, F32, F32},
    ProductTypes{QDInt8, QBInt4, F32, F32},
    ProductTypes{QDInt8, QBInt4, F32, F16},
    ProductTypes{QInt8, QCInt8, QCInt32, QInt8},
    ProductTypes{QInt8, QCInt4, QCInt32, QInt8},
    ProductTypes{QInt8, QInt8, QInt32, QInt8},
};
// An f32 bias is accepted with f16 weights, but read as f16.
constexpr std::array convolution_types = {
    ProductTypes{F32, F32, F32, F32},
    ProductTypes{F16, F32, F32, F16},
    ProductTypes{F32, F16, F16, F32},
    ProductTypes{QDInt8, QCInt8, F32, F32},
    ProductTypes{QInt8, QCInt8, QCInt32, QInt8},
    ProductTypes{QInt8, QInt8, QInt32, QInt8},
};
constexpr std::array depthwise_types = {
    ProductTypes{F32, F32, F32, F32},          ProductTypes{F16, F32, F32, F16},
    ProductTypes{F32, F16, F16, F32},          ProductTypes{QInt8, QCInt8, QCInt32, QInt8},
    ProductTypes{QInt8, QInt8, QInt32, QInt8},
};

std::span<const ProductTypes> product_types(wire::NodeUnion kind) {
  if (kind == wire::NodeUnion::FullyConnected) return linear_types;
  if (kind == wire::NodeUnion::DepthwiseConv2d) return depthwise_types;
  return convolution_types;
}

}  // namespace

bool takes_type(wire::NodeUnion kind, wire::DataType type) {
  using enum wire::NodeUnion;
  const bool is_number = type == F32 || type == F16;
  switch (kind) {
    case Div:
    case Minimum:
    case Maximum:
    case PRelu:
    case Softmax:
    case AvgPooling2d:
    case BatchMatrixMultiply:
      return is_number;
    default:
      return is_number || type == QInt8;
  }
}

bool converts(wire::DataType from, wire::DataType to) {
  if (from == F32) return to == F16 || to == QInt8 || to == QDInt8;
  if (from == F16) return to == F32 || to == QInt8 || to == QDInt8;
  return from == QInt8 && (to == F32 || to == F16 || to == QInt8);
}

bool multiplies(wire::NodeUnion kind, wire::DataType input, wire::DataType filter,
                std::optional<wire::DataType> bias, wire::DataType output) {
  return std::ranges::any_of(product_types(kind), [&](const ProductTypes& types) {
    return types.input == input && types.filter == filter && types.output == output &&
           (!bias || types.bias == *bias);
  });
}

bool keeps_scale(wire::NodeUnion kind) {
  using enum wire::NodeUnion;
  switch (kind) {
    case Clamp:
    case Copy:
    case ConstantPad:
    case MaxPooling2d:
    case ResizeBilinear:
    case Reshape:
    case Transpose:
    case Slice:
    case Concat2:
    case Concat3:
    case Concat4:
    case Concat5:
      return true;
    default:
      return false;
  }
}

}  // namespace depute::xnnpack
