// Kernels of arithmetic, comparisons and logic, element by element.
//
//   aten.div.Tensor_mode([7, -7], 2, rounding_mode="floor")  ->  [3, -4]
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/pointwise_call.h"
#include "support/try.h"

namespace depute::internal {
namespace {

template <typename T>
constexpr bool is_int = std::is_same_v<T, std::int64_t>;

// --- integers

// Quotient rounded toward zero; the overflowing one wraps. The divisor is nonzero.
std::int64_t quotient(std::int64_t a, std::int64_t b) {
  return b == -1 ? wrap_sub(0, a) : a / b;
}
std::int64_t rest(std::int64_t a, std::int64_t b) {
  return b == -1 ? 0 : a % b;
}
std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  std::int64_t towards_zero = quotient(a, b);
  return rest(a, b) != 0 && (a < 0) != (b < 0) ? towards_zero - 1 : towards_zero;
}

// Negative exponents return the integer part: 0, or 1 and -1 for bases of 1 and -1.
std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  std::int64_t power = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) power = wrap_mul(power, base);
    base = wrap_mul(base, base);
  }
  return power;
}

// --- floats

// Returns floor(a / b) without the rounding error of a division, by fmod.
template <typename T>
T floor_quotient(T a, T b) {
  if (b == 0) return a / b;
  T modulus = std::fmod(a, b);
  T quotient = (a - modulus) / b;
  if (modulus != 0 && (b < 0) != (modulus < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T{0}, a / b);
  T whole = std::floor(quotient);
  return quotient - whole > T{0.5} ? whole + 1 : whole;
}

// --- the functions of the table

constexpr auto add = [](auto a, auto b, auto alpha) { return wrap_add(a, wrap_mul(alpha, b)); };
constexpr auto sub = [](auto a, auto b, auto alpha) { return wrap_sub(a, wrap_mul(alpha, b)); };
constexpr auto reversed_sub = [](auto a, auto b, auto alpha) { return wrap_sub(b, wrap_mul(alpha, a)); };
constexpr auto mul = [](auto a, auto b) { return wrap_mul(a, b); };

constexpr auto divide = []<typename T>(T a, T b) {
  if constexpr (is_int<T>)
    return quotient(a, b);
  else
    return a / b;
};
constexpr auto divide_trunc = []<typename T>(T a, T b) {
  if constexpr (is_int<T>)
    return quotient(a, b);
  else
    return std::trunc(a / b);
};
constexpr auto divide_floor = []<typename T>(T a, T b) { return floor_quotient(a, b); };
constexpr auto fmod = []<typename T>(T a, T b) {
  if constexpr (is_int<T>)
    return rest(a, b);
  else
    return std::fmod(a, b);
};
constexpr auto remainder = []<typename T>(T a, T b) {
  T modulus = fmod(a, b);
  return modulus != 0 && (modulus < 0) != (b < 0) ? static_cast<T>(modulus + b) : modulus;
};
constexpr auto power = []<typename T>(T a, T b) {
  if constexpr (is_int<T>)
    return integer_power(a, b);
  else
    return std::pow(a, b);
};
// The power 0.5 is computed by sqrt, which differs from std::pow for -0 and -inf.
constexpr auto power_of_number = []<typename T>(T a, T b) {
  if constexpr (is_int<T>) {
    return integer_power(a, b);
  } else {
    return b == T{0.5} ? std::sqrt(a) : std::pow(a, b);
  }
};
constexpr auto atan2 = []<typename T>(T a, T b) {
  if constexpr (is_int<T>)
    return T{0};
  else
    return std::atan2(a, b);
};

// NaN wins, on either side.
constexpr auto minimum = [](auto a, auto b) { return a != a ? a : (b < a || b != b ? b : a); };
constexpr auto maximum = [](auto a, auto b) { return a != a ? a : (b > a || b != b ? b : a); };

constexpr auto absolute = []<typename T>(T x) { return x > 0 || x != x ? x : wrap_sub(T{0}, x); };
constexpr auto sign = [](auto x) { return (x > 0) - (x < 0); };

constexpr auto logical_and = [](auto a, auto b) { return a != 0 && b != 0; };
constexpr auto logical_or = [](auto a, auto b) { return a != 0 || b != 0; };
constexpr auto logical_xor = [](auto a, auto b) { return (a != 0) != (b != 0); };

constexpr auto equal = [](auto a, auto b) { return a == b; };
constexpr auto not_equal = [](auto a, auto b) { return a != b; };
constexpr auto less = [](auto a, auto b) { return a < b; };
constexpr auto less_or_equal = [](auto a, auto b) { return a <= b; };
constexpr auto greater = [](auto a, auto b) { return a > b; };
constexpr auto greater_or_equal = [](auto a, auto b) { return a >= b; };

constexpr auto choose = [](auto condition, auto a, auto b) { return condition != 0 ? a : b; };
constexpr auto fill_masked = [](auto x, auto mask, auto fill) { return mask != 0 ? fill : x; };

// Bitwise operations on integers; the op's type rule rejects floats.
constexpr auto bit_and = []<typename T>(T a, T b) {
  return static_cast<std::int64_t>(a) & static_cast<std::int64_t>(b);
};
constexpr auto bit_or = []<typename T>(T a, T b) {
  return static_cast<std::int64_t>(a) | static_cast<std::int64_t>(b);
};
constexpr auto bit_xor = []<typename T>(T a, T b) {
  return static_cast<std::int64_t>(a) ^ static_cast<std::int64_t>(b);
};
// Shifts by 64 or more, or by a negative number, move all bits out.
constexpr auto shift_left = []<typename T>(T a, T b) -> std::int64_t {
  auto places = static_cast<std::uint64_t>(static_cast<std::int64_t>(b));
  if (places > 63) return 0;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(static_cast<std::int64_t>(a)) << places);
};
constexpr auto shift_right = []<typename T>(T a, T b) -> std::int64_t {
  auto places = static_cast<std::uint64_t>(static_cast<std::int64_t>(b));
  return static_cast<std::int64_t>(a) >> std::min<std::uint64_t>(places, 63);
};

// Rounding returns integers unchanged.
template <auto fn>
constexpr auto on_floats = []<typename T>(T x) {
  if constexpr (is_int<T>)
    return x;
  else
    return fn(x);
};

// --- kernels with rules of their own

// Fails for a division of integers by zero.
template <auto fn>
Contents division(const KernelCall& call) {
  TRY(Domain domain, domain_of(call.compute_type()));
  TensorData divisor = call.operand(1);
  if (domain == Domain::Int && domain_of(divisor.type.dtype)) {
    Elements<std::int64_t> divisors(divisor);
    if (std::ranges::find(divisors, 0) != divisors.end()) return bad_arguments("integer division by zero");
  }
  return binary<fn>(call);
}

Contents divide_with_mode(const KernelCall& call) {
  std::string_view mode = call.text("rounding_mode");
  if (mode == "floor") return division<divide_floor>(call);
  if (mode == "trunc") return division<divide_trunc>(call);
  if (!call.is_none("rounding_mode")) return bad_arguments("the rounding mode must be floor or trunc");
  return division<divide>(call);
}

// Bools are inverted logically, not as bits of an integer.
Contents bitwise_not(const KernelCall& call) {
  if (call.result_type() == ScalarType::Bool) return unary<[](auto x) { return x == 0; }>(call);
  return unary<[](auto x) { return ~static_cast<std::int64_t>(x); }>(call);
}

// A missing bound has no effect.
Contents clamp(const KernelCall& call) {
  bool has_low = !call.is_none("min");
  bool has_high = !call.is_none("max");
  if (has_low && has_high) {
    return ternary<[](auto x, auto low, auto high) { return minimum(maximum(x, low), high); }>(call);
  }
  if (has_low) return binary<[](auto x, auto low) { return maximum(x, low); }>(call);
  if (has_high) {
    return pointwise<minimum>(call, std::array{call.operand(0), call.operand(2)});
  }
  return bad_arguments("clamp requires a lower or an upper bound");
}

}  // namespace

std::span<const KernelLine> pointwise_kernels() {
  static constexpr KernelLine lines[] = {
      // arithmetic
      {"aten.add.Tensor", binary<add, 1>},
      {"aten.add.Scalar", binary<add, 1>},
      {"aten.sub.Tensor", binary<sub, 1>},
      {"aten.sub.Scalar", binary<sub, 1>},
      {"aten.rsub.Tensor", binary<reversed_sub, 1>},
      {"aten.rsub.Scalar", binary<reversed_sub, 1>},
      {"aten.mul.Tensor", binary<mul>},
      {"aten.mul.Scalar", binary<mul>},
      {"aten.div.Tensor", division<divide>},
      {"aten.div.Scalar", division<divide>},
      {"aten.div.Tensor_mode", divide_with_mode},
      {"aten.div.Scalar_mode", divide_with_mode},
      {"aten.floor_divide.default", division<divide_floor>},
      {"aten.floor_divide.Scalar", division<divide_floor>},
      {"aten.fmod.Tensor", division<fmod>},
      {"aten.fmod.Scalar", division<fmod>},
      {"aten.remainder.Tensor", division<remainder>},
      {"aten.remainder.Scalar", division<remainder>},
      {"aten.minimum.default", binary<minimum>},
      {"aten.maximum.default", binary<maximum>},
      {"aten.pow.Tensor_Tensor", binary<power>},
      {"aten.pow.Tensor_Scalar", binary<power_of_number>},
      {"aten.pow.Scalar", binary<power>},
      {"aten.atan2.default", binary<atan2>},
      {"aten.clamp.default", clamp},
      {"aten.clamp.Tensor", clamp},
      // one operand
      {"aten.abs.default", unary<absolute>},
      {"aten.neg.default", unary<[](auto x) { return wrap_mul(decltype(x){-1}, x); }>},
      {"aten.sign.default", unary<sign>},
      {"aten.ceil.default", unary<on_floats<[](auto x) { return std::ceil(x); }>>},
      {"aten.floor.default", unary<on_floats<[](auto x) { return std::floor(x); }>>},
      {"aten.round.default", unary<on_floats<[](auto x) { return std::nearbyint(x); }>>},
      {"aten.trunc.default", unary<on_floats<[](auto x) { return std::trunc(x); }>>},
      {"aten.bitwise_not.default", bitwise_not},
      {"aten.exp.default", unary<[](auto x) { return std::exp(x); }>},
      {"aten.expm1.default", unary<[](auto x) { return std::expm1(x); }>},
      {"aten.log.default", unary<[](auto x) { return std::log(x); }>},
      {"aten.log10.default", unary<[](auto x) { return std::log10(x); }>},
      {"aten.log1p.default", unary<[](auto x) { return std::log1p(x); }>},
      {"aten.log2.default", unary<[](auto x) { return std::log2(x); }>},
      {"aten.sqrt.default", unary<[](auto x) { return std::sqrt(x); }>},
      {"aten.rsqrt.default", unary<on_floats<[](auto x) { return 1 / std::sqrt(x); }>>},
      {"aten.reciprocal.default", unary<on_floats<[](auto x) { return 1 / x; }>>},
      {"aten.square.default", unary<[](auto x) { return wrap_mul(x, x); }>},
      {"aten.erf.default", unary<[](auto x) { return std::erf(x); }>},
      {"aten.sin.default", unary<[](auto x) { return std::sin(x); }>},
      {"aten.cos.default", unary<[](auto x) { return std::cos(x); }>},
      {"aten.tan.default", unary<[](auto x) { return std::tan(x); }>},
      {"aten.asin.default", unary<[](auto x) { return std::asin(x); }>},
      {"aten.acos.default", unary<[](auto x) { return std::acos(x); }>},
      {"aten.atan.default", unary<[](auto x) { return std::atan(x); }>},
      {"aten.sinh.default", unary<[](auto x) { return std::sinh(x); }>},
      {"aten.cosh.default", unary<[](auto x) { return std::cosh(x); }>},
      {"aten.asinh.default", unary<[](auto x) { return std::asinh(x); }>},
      {"aten.acosh.default", unary<[](auto x) { return std::acosh(x); }>},
      {"aten.atanh.default", unary<[](auto x) { return std::atanh(x); }>},
      {"aten.isnan.default", unary<[](auto x) { return x != x; }>},
      {"aten.isinf.default", unary<[](auto x) { return std::isinf(static_cast<double>(x)); }>},
      // comparisons
      {"aten.eq.Tensor", binary<equal>},
      {"aten.eq.Scalar", binary<equal>},
      {"aten.ne.Tensor", binary<not_equal>},
      {"aten.ne.Scalar", binary<not_equal>},
      {"aten.lt.Tensor", binary<less>},
      {"aten.lt.Scalar", binary<less>},
      {"aten.le.Tensor", binary<less_or_equal>},
      {"aten.le.Scalar", binary<less_or_equal>},
      {"aten.gt.Tensor", binary<greater>},
      {"aten.gt.Scalar", binary<greater>},
      {"aten.ge.Tensor", binary<greater_or_equal>},
      {"aten.ge.Scalar", binary<greater_or_equal>},
      // logic
      {"aten.logical_not.default", unary<[](auto x) { return x == 0; }>},
      {"aten.logical_and.default", binary<logical_and>},
      {"aten.logical_or.default", binary<logical_or>},
      {"aten.logical_xor.default", binary<logical_xor>},
      {"aten.bitwise_and.Tensor", binary<bit_and>},
      {"aten.bitwise_and.Scalar", binary<bit_and>},
      {"aten.bitwise_or.Tensor", binary<bit_or>},
      {"aten.bitwise_or.Scalar", binary<bit_or>},
      {"aten.bitwise_xor.Tensor", binary<bit_xor>},
      {"aten.bitwise_xor.Scalar", binary<bit_xor>},
      {"aten.bitwise_left_shift.Tensor", binary<shift_left>},
      {"aten.bitwise_left_shift.Tensor_Scalar", binary<shift_left>},
      {"aten.bitwise_right_shift.Tensor", binary<shift_right>},
      {"aten.bitwise_right_shift.Tensor_Scalar", binary<shift_right>},
      // choice
      {"aten.where.self", ternary<choose>},
      {"aten.where.ScalarOther", ternary<choose>},
      {"aten.where.ScalarSelf", ternary<choose>},
      {"aten.where.Scalar", ternary<choose>},
      {"aten.masked_fill.Scalar", ternary<fill_masked>},
      {"aten.masked_fill.Tensor", ternary<fill_masked>},
  };
  return lines;
}

}  // namespace depute::internal
