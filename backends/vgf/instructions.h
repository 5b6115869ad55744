// The attributes of TOSA's instructions in SPIR-V, in the order of their operands. The number of an instruction is that
// of the operator in a flatbuffer, less one: CONV2D is operator 3 and instruction 2.
//
//   CONV2D: pad, stride, dilation, accumulator, local bound; then the operator's inputs
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "backends/tosa/graph.h"

namespace depute::vgf {

enum class Attribute : std::uint8_t {
  None,
  Pad,
  Kernel,
  Stride,
  Dilation,
  Accumulator,
  LocalBound,
  NanMode,
  Axis,
  Min,
  Max,
  Perms,
  ResizeMode,
  Round,
  Scale32,
  Rounding,
  PerChannel,
  IsUnsigned,
};

inline constexpr std::array<std::string_view, 18> attribute_names = {
    "",    "pad", "kernel", "stride", "dilation", "accumulator", "local_bound", "nan",         "axis",
    "min", "max", "perms",  "mode",   "round",    "scale32",     "rounding",    "per_channel", "unsigned"};

struct Instruction {
  tosa::Op op;
  std::array<Attribute, 5> attributes;  // ends with None
};

// Operators without attributes are not listed.
inline constexpr auto instructions_with_attributes = [] {
  using enum Attribute;
  using tosa::Op;
  return std::to_array<Instruction>({
      {Op::ArgMax, {Axis, NanMode}},
      {Op::AvgPool2d, {Kernel, Stride, Pad, Accumulator}},
      {Op::Conv2d, {Pad, Stride, Dilation, Accumulator, LocalBound}},
      {Op::Conv3d, {Pad, Stride, Dilation, Accumulator, LocalBound}},
      {Op::DepthwiseConv2d, {Pad, Stride, Dilation, Accumulator, LocalBound}},
      {Op::MaxPool2d, {Kernel, Stride, Pad, NanMode}},
      {Op::TransposeConv2d, {Pad, Stride, Accumulator, LocalBound}},
      {Op::Clamp, {Min, Max, NanMode}},
      {Op::ArithmeticRightShift, {Round}},
      {Op::Maximum, {NanMode}},
      {Op::Minimum, {NanMode}},
      {Op::ReduceAll, {Axis}},
      {Op::ReduceAny, {Axis}},
      {Op::ReduceMax, {Axis, NanMode}},
      {Op::ReduceMin, {Axis, NanMode}},
      {Op::ReduceProduct, {Axis}},
      {Op::ReduceSum, {Axis}},
      {Op::Concat, {Axis}},
      {Op::Reverse, {Axis}},
      {Op::Transpose, {Perms}},
      {Op::Resize, {ResizeMode}},
      {Op::Rescale, {Scale32, Rounding, PerChannel, IsUnsigned, IsUnsigned}},
  });
}();

inline std::span<const Attribute> attributes_of(tosa::Op op) {
  const auto* row = std::ranges::find(instructions_with_attributes, op, &Instruction::op);
  if (row == instructions_with_attributes.end()) return {};
  const auto end = std::ranges::find(row->attributes, Attribute::None);
  return {row->attributes.begin(), end};
}

}  // namespace depute::vgf
