#include "processor_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace depute::ethosu {
namespace {

using rules::Check;
using rules::Refusal;
using tosa::DType;
using tosa::Op;
using tosa::Shape;
using tosa::TosaGraph;
using tosa::TosaOp;
using tosa::TosaTensor;
using tosa::Window;

constexpr std::int64_t max_size = 1 << 16;

const TosaTensor& input(const TosaGraph& graph, const TosaOp& op, std::size_t i = 0) {
  return graph.tensors[op.inputs[i]];
}

const TosaTensor& output(const TosaGraph& graph, const TosaOp& op) {
  return graph.tensors[op.output];
}

Refusal lacks(const TosaOp& op, std::string_view seen, std::string_view allowed) {
  return Refusal{"operator", fmt::format("{} of {}", tosa::name(op.op), seen), std::string(allowed)};
}

Check allow_types(const TosaGraph& graph, const TosaOp& op, std::initializer_list<DType> types,
                  std::string_view names) {
  for (const DType dtype : {input(graph, op).dtype, output(graph, op).dtype}) {
    if (std::ranges::find(types, dtype) == types.end()) return lacks(op, tosa::name(dtype), names);
  }
  return {};
}

Check allow_small(const TosaGraph& graph, const TosaOp& op) {
  return allow_types(graph, op, {DType::I8, DType::I16}, "i8, i16");
}

Check allow_integers(const TosaGraph& graph, const TosaOp& op) {
  return allow_types(graph, op, {DType::I8, DType::I16, DType::I32, DType::I48}, "integers");
}

// Sizes from the second dimension on.
Check allow_sizes(const TosaOp& op, const Shape& shape) {
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (shape[i] > max_size)
      return lacks(op, fmt::format("{} elements along a dimension", shape[i]), "65536");
  }
  return {};
}

// --- windows

struct Kernel {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

Check allow_kernel(const TosaOp& op, const Kernel& kernel, std::int64_t max_area, std::int64_t max_height) {
  if (kernel.height * kernel.width <= max_area && kernel.height <= max_height) return {};
  return lacks(op, fmt::format("windows of {} x {}", kernel.height, kernel.width),
               fmt::format("areas up to {}, heights up to {}", max_area, max_height));
}

Check allow_strides(const TosaOp& op, std::span<const std::int32_t> strides) {
  constexpr std::int32_t max_stride = 3;
  for (const std::int32_t stride : strides) {
    if (stride > max_stride) return lacks(op, fmt::format("stride {}", stride), "1 to 3");
  }
  return {};
}

Check check_pool(const TosaGraph& graph, const TosaOp& op) {
  const auto& window = std::get<Window>(op.attributes);
  const Shape& image = input(graph, op).shape;
  DEPUTE_REFUSE_IF(allow_sizes(op, image));
  DEPUTE_REFUSE_IF(allow_strides(op, window.stride));
  const Kernel kernel{window.kernel[0], window.kernel[1]};
  if (op.op == Op::AvgPool2d) {
    if (image[0] != 1) return lacks(op, fmt::format("{} images", image[0]), "1 image");
    constexpr std::int64_t max_padded = 8;
    const bool is_padded = std::ranges::any_of(window.pad, [](std::int32_t pad) { return pad != 0; });
    if (is_padded && std::max(kernel.height, kernel.width) > max_padded)
      return lacks(op, fmt::format("windows of {} x {}", kernel.height, kernel.width), "8 x 8 with padding");
  }
  return allow_kernel(op, kernel, max_size, 256);
}

// Weights are [out, (depth,) height, width, in], those of convolutions by channel [height, width, in, multiples].
Kernel kernel_of(const TosaGraph& graph, const TosaOp& op) {
  const Shape& weight = input(graph, op, 1).shape;
  if (op.op == Op::DepthwiseConv2d) return {weight[0], weight[1]};
  return {weight[weight.size() - 3], weight[weight.size() - 2]};
}

Check check_convolution(const TosaGraph& graph, const TosaOp& op) {
  const auto& window = std::get<Window>(op.attributes);
  const Shape& image = input(graph, op).shape;
  if (image.back() > max_size) return lacks(op, fmt::format("{} channels", image.back()), "65536");
  std::span<const std::int32_t> strides = window.stride;
  if (op.op == Op::Conv3d) {
    if (input(graph, op, 1).shape[1] != 1) return lacks(op, "windows with a depth", "windows of depth 1");
    strides = strides.subspan(1);
  }
  // Vela divides a convolution whose windows move further, unless something is padded.
  const auto is = [](std::int32_t number) { return [number](std::int32_t each) { return each == number; }; };
  const bool is_divided = op.op != Op::DepthwiseConv2d && std::ranges::all_of(window.pad, is(0)) &&
                          std::ranges::all_of(window.dilation, is(1));
  if (!is_divided) DEPUTE_REFUSE_IF(allow_strides(op, strides));
  return allow_kernel(op, kernel_of(graph, op), 4096, 64);
}

Check check_transposed(const TosaGraph& graph, const TosaOp& op) {
  const auto& stride = std::get<Window>(op.attributes).stride;
  const Shape& image = input(graph, op).shape;
  const Kernel kernel = kernel_of(graph, op);
  DEPUTE_REFUSE_IF(allow_sizes(op, image));
  const bool is_row = image[1] == 1 && kernel.height == 1;
  const bool is_column = image[2] == 1 && kernel.width == 1;
  const bool is_square = stride[0] == stride[1] && stride[0] <= 2;
  const bool is_known = is_square || (stride[0] == 1 && stride[1] == 2 && is_row) ||
                        (stride[0] == 2 && stride[1] == 1 && is_column);
  if (!is_known) return lacks(op, fmt::format("strides {} and {}", stride[0], stride[1]), "1 or 2, the same");
  return allow_kernel(op, kernel, 4096, 64);
}

// --- order of elements

bool is_permutation(std::span<const std::int32_t> perms, std::initializer_list<std::int32_t> other) {
  return std::ranges::equal(perms, other);
}

// Checks a permutation. Tensors of i32 allow few: two neighboring dimensions change places, or rows and channels.
Check check_transpose(const TosaGraph& graph, const TosaOp& op) {
  DEPUTE_REFUSE_IF(allow_integers(graph, op));
  const TosaTensor& x = input(graph, op);
  const auto& given = std::get<tosa::Permutation>(op.attributes).perms;
  if (x.dtype == DType::I32) {
    constexpr std::size_t rank = 4;
    if (x.shape.size() > rank) return lacks(op, "i32 with 5 dimensions or more", "4");
    const auto more = static_cast<std::int32_t>(rank - given.size());
    std::vector<std::int32_t> perms(static_cast<std::size_t>(more));
    std::iota(perms.begin(), perms.end(), 0);
    for (const std::int32_t dim : given) perms.push_back(dim + more);
    Shape shape(static_cast<std::size_t>(more), 1);
    for (const std::int64_t size : x.shape) shape.push_back(size);
    const bool is_small =
        shape[0] == 1 && shape[1] <= max_size && shape[2] <= max_size && shape[3] <= max_size / 4;
    if (is_permutation(perms, {0, 1, 2, 3}) && shape[3] <= max_size / 2) return {};
    if (is_permutation(perms, {0, 1, 3, 2}) && shape[0] * shape[1] <= max_size) return allow_sizes(op, shape);
    if ((is_permutation(perms, {0, 2, 1, 3}) || is_permutation(perms, {0, 3, 2, 1})) && is_small) return {};
    return lacks(op, "i32 in this order", "exchanges of neighbors");
  }
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : x.shape) {
    if (size > 1) sizes.push_back(size);
  }
  std::ranges::sort(sizes, std::greater{});
  std::int64_t product = 1;
  // Vela counts dimensions of size 1, too, if more than three are larger.
  const std::size_t others = sizes.size() > 3 ? std::min(x.shape.size() - 2, sizes.size()) : 0;
  for (std::size_t i = 0; i < others; ++i) product *= sizes[i];
  if (!sizes.empty() && sizes.size() <= 3) product = sizes[0];
  return product <= max_size ? Check()
                             : lacks(op, "large dimensions", "65536 elements along all but two of them");
}

Check check_reverse(const TosaGraph& graph, const TosaOp& op) {
  DEPUTE_REFUSE_IF(allow_small(graph, op));
  const auto axis = static_cast<std::size_t>(std::get<tosa::Axis>(op.attributes).axis);
  const std::size_t rank = input(graph, op).shape.size();
  const bool is_known = axis + 2 == rank || axis + 3 == rank;
  return is_known ? Check() : lacks(op, "this dimension", "rows and columns");
}

Check check_sum(const TosaGraph& graph, const TosaOp& op) {
  const Shape& shape = input(graph, op).shape;
  const auto axis = static_cast<std::size_t>(std::get<tosa::Axis>(op.attributes).axis);
  std::int64_t before = 1;
  std::int64_t after = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) (i < axis ? before : after) *= i == axis ? 1 : shape[i];
  const bool is_known =
      shape[axis] <= max_size && (axis + 1 == shape.size() || std::max(before, after) <= max_size);
  return is_known ? Check() : lacks(op, "large dimensions", "65536 elements before, along and behind");
}

Check check_argmax(const TosaGraph& graph, const TosaOp& op) {
  const Shape& shape = input(graph, op).shape;
  constexpr std::int64_t max_channels = 127;
  const auto axis = static_cast<std::size_t>(std::get<tosa::Axis>(op.attributes).axis);
  const bool has_one_image = shape.size() < 4 || shape[0] == 1;
  const bool is_known = shape.size() <= 4 && has_one_image && axis + 1 == shape.size() &&
                        shape.back() <= max_channels && tosa::element_count(shape) / shape.back() <= max_size;
  return is_known ? Check() : lacks(op, "this dimension", "up to 127 channels of one image");
}

Check check_cast(const TosaGraph& graph, const TosaOp& op) {
  DEPUTE_REFUSE_IF(allow_integers(graph, op));
  const bool is_narrowing = input(graph, op).dtype == DType::I32 && output(graph, op).dtype != DType::I32;
  return is_narrowing ? lacks(op, "i32 to fewer bits", "other casts") : Check();
}

Check check_matmul(const TosaGraph& graph, const TosaOp& op) {
  if (input(graph, op).dtype != DType::I8) return lacks(op, tosa::name(input(graph, op).dtype), "i8");
  DEPUTE_REFUSE_IF(allow_sizes(op, input(graph, op).shape));
  return allow_sizes(op, output(graph, op).shape);
}

// Checks an operator for the Ethos-U55 and the Ethos-U65.
Check check_small(const TosaGraph& graph, const TosaOp& op) {
  switch (op.op) {
    case Op::BitwiseAnd:
    case Op::BitwiseOr:
    case Op::BitwiseXor:
    case Op::BitwiseNot:
    case Op::IntDiv:
    case Op::LogicalAnd:
    case Op::LogicalRightShift:
    case Op::LogicalOr:
    case Op::LogicalXor:
    case Op::LogicalNot:
    case Op::ArithmeticRightShift:  // only with rounding, which PyTorch does not have
    case Op::Select:
    case Op::Equal:
    case Op::Greater:
    case Op::GreaterEqual:
    case Op::ReduceAll:
    case Op::ReduceAny:
    case Op::Gather:
    case Op::Scatter:
    case Op::Resize:  // only of sizes and factors that PyTorch's resizing does not make
      return Refusal{"operator", std::string(tosa::name(op.op)), "operators of the Ethos-U55 and U65"};
    case Op::LogicalLeftShift:
      return allow_types(graph, op, {DType::I32}, "i32");
    case Op::Table:
      return allow_types(graph, op, {DType::I8, DType::I16, DType::I32}, "i8, i16");
    case Op::AvgPool2d:
    case Op::MaxPool2d:
      return check_pool(graph, op);
    case Op::Conv2d:
    case Op::Conv3d:
    case Op::DepthwiseConv2d:
      return check_convolution(graph, op);
    case Op::TransposeConv2d:
      return check_transposed(graph, op);
    case Op::MatMul:
      return check_matmul(graph, op);
    case Op::Transpose:
      return check_transpose(graph, op);
    case Op::ReduceSum:
      return check_sum(graph, op);
    case Op::ReduceMax:
    case Op::ReduceMin:
      return allow_small(graph, op);
    case Op::ArgMax:
      return check_argmax(graph, op);
    case Op::Cast:
      return check_cast(graph, op);
    case Op::Reverse:
      return check_reverse(graph, op);
    case Op::Concat:
    case Op::Reshape:
    case Op::Slice:
    case Op::Tile:
    case Op::Identity:
    case Op::Pad:
      return allow_integers(graph, op);
    default:
      return {};
  }
}

// Checks an operator for the Ethos-U85.
Check check_large(const TosaGraph& graph, const TosaOp& op) {
  const bool needs_constants = op.op == Op::TransposeConv2d || op.op == Op::Conv3d;
  if (!needs_constants) return {};
  for (std::size_t i = 1; i < 3; ++i) {
    if (!input(graph, op, i).constant) return lacks(op, "weights that are no constants", "constant weights");
  }
  return {};
}

}  // namespace

tosa::Device device_of(std::string_view accelerator) {
  tosa::Device device{.profile = tosa::Profile::Integers, .limit = nullptr, .moved_dims = 4};
  if (!accelerator.empty()) device.limit = accelerator.starts_with("ethos-u85") ? check_large : check_small;
  return device;
}

}  // namespace depute::ethosu
