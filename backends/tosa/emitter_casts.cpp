// Conversions between element types, and bounds of elements, where TOSA's operators differ from PyTorch's.
//
//   cast(x: f32, i32)     CAST(SELECT(x < 0, CEIL(x), FLOOR(x)))
//   cast(x: bool, f32)    CAST to i8, then to f32
//   clamp(x: i32, 0, 6)   MINIMUM(MAXIMUM(x, 0), 6)
//
// TOSA's CAST rounds, where PyTorch cuts off, and has no way between bool and floats; CLAMP has no i32.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "depute/program/data.h"
#include "emitter.h"
#include "lower/weights/order.h"

namespace depute::tosa {

Tensor Emitter::clamp(const Tensor& x, double min, double max) {
  if (mode_ && x.dtype == mode_->dtype()) {
    const std::int32_t least = quantized(static_cast<float>(min), *mode_);
    const std::int32_t most = quantized(static_cast<float>(max), *mode_);
    if (least == mode_->least() && most == mode_->most()) return x;
    return add(Op::Clamp, {x}, Limits{static_cast<double>(least), static_cast<double>(most)});
  }
  // The extension for i16 is for quantized programs.
  if (x.dtype == DType::I16) return cast(clamp(cast(x, DType::I32), min, max), x.dtype);
  if (takes(Op::Clamp, x.dtype, device_.version)) return add(Op::Clamp, {x}, Limits{min, max});
  Tensor result = x;
  // No bound of i64 is left out: a double near its ends may be another number.
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double least = x.dtype == DType::I64 ? -infinity : std::numeric_limits<std::int32_t>::min();
  const double most = x.dtype == DType::I64 ? infinity : std::numeric_limits<std::int32_t>::max();
  if (min > least) result = add(Op::Maximum, result, std::min(std::ceil(min), most));
  if (max < most) result = add(Op::Minimum, result, std::max(std::floor(max), least));
  return result;
}

// TOSA saturates integers, where PyTorch wraps around.
Tensor Emitter::negate(const Tensor& x) {
  const DType computed = wide_integer(x.dtype);
  if (!is_float(x.dtype)) return cast(add(Op::Sub, {number(0, computed), cast(x, computed)}), x.dtype);
  const Tensor zero = zero_point(x.dtype);
  return as(raw(Op::Negate, {x, zero, zero}, x.dtype, graph_.tensors[x.id].shape), x.order);
}

// TOSA rounds where PyTorch cuts off, and has no way between bool and floats.
Tensor Emitter::cast(const Tensor& x, DType dtype) {
  if (x.dtype == dtype) return x;
  const auto to = [&](const Tensor& from, DType type) {
    return as(raw(Op::Cast, {from}, type, graph_.tensors[from.id].shape), from.order);
  };
  if (x.dtype == DType::Bool && is_float(dtype)) {
    if (device_.profile == Profile::Floats) {
      const Tensor zero = number(0, dtype), one = number(1, dtype);
      return select(x, one, zero);
    }
    return to(to(x, DType::I8), dtype);
  }
  if (x.dtype == DType::Bool) return to(x, dtype);
  if (dtype == DType::Bool) {
    const Tensor wide = is_float(x.dtype) ? x : cast(x, wide_integer(x.dtype));
    return add(Op::LogicalNot, {compare(Op::Equal, wide, number(0, wide.dtype))});
  }
  const auto is_half = [](DType type) { return type == DType::F16 || type == DType::BF16; };
  if (is_half(x.dtype) && is_half(dtype)) return to(to(x, DType::F32), dtype);
  if (x.dtype == DType::I64) {
    if (is_float(dtype)) return cast(float_of_i64(x), dtype);
    const Tensor narrow = to(x, DType::I32);
    return dtype == DType::I32 ? narrow : to(narrow, dtype);
  }
  if (dtype == DType::I64) return to(cast(x, DType::I32), dtype);
  if (!is_float(x.dtype) || is_float(dtype)) return to(x, dtype);
  // In the profile of floats integers cannot be moved into rows later.
  if (device_.profile == Profile::Floats && !weights::is_identity(x.order)) return cast(in_rows(x), dtype);
  const Tensor is_negative = compare(Op::Greater, number(0, x.dtype), x);
  const Tensor floor = add(Op::Floor, {x}), ceil = add(Op::Ceil, {x});
  return to(select(is_negative, ceil, floor), dtype);
}

// CAST has no way from i64 to floats: the sum of 16, 24 and 24 bits, with the sign.
Tensor Emitter::float_of_i64(const Tensor& x) {
  constexpr double unit = 1 << 24;
  const auto number = [&](double value) { return constant_number(value, DType::I64); };
  // The least number that is a double and has an opposite: smaller ones become the same f32.
  const Tensor least = constant(weights::constant_of(
      "", make_data<std::int64_t>(ScalarType::I64, Dims{}, {std::int64_t{-9223372036854774784}})));
  const Tensor size = add(Op::Abs, {add(Op::Maximum, {x, least})});
  const auto shifted = [&](int bits) { return add(Op::ArithmeticRightShift, {size, number(bits)}, Shift{}); };
  const auto low = [&](const Tensor& bits) { return add(Op::BitwiseAnd, {bits, number(unit - 1)}); };
  const auto part = [&](const Tensor& bits) { return cast(cast(bits, DType::I32), DType::F32); };
  const Tensor rest = add(Op::Add, {mul(part(low(shifted(24))), unit), part(low(size))});
  const Tensor sum = add(Op::Add, {mul(part(shifted(48)), unit * unit), rest});
  const Tensor opposite = negate(sum);
  return select(compare(Op::Greater, number(0), x), opposite, sum);
}

Tensor Emitter::rounded(const Tensor& x, DType dtype) {
  return as(raw(Op::Cast, {x}, dtype, graph_.tensors[x.id].shape), x.order);
}

}  // namespace depute::tosa
