// Computes nextafter: the next number of the element type toward another one.
//
// Adding between 5/8 and 5/4 of the distance to the next number and rounding gives the next number; a fixed
// fraction of the number is such an amount. Types narrower than f64 are rounded when the sum is converted.
//
//   %y = aten.nextafter.default(%x, %z)       ->       d = max(abs(x) * part, smallest)
//                                                      where(x < z, x + d, x - d)
#include <cmath>

#include "ops/math/formula.h"

namespace depute::internal {
namespace {

// For a type: the distance between 1 and the next number, the smallest and the largest positive number.
struct Numbers {
  double distance, smallest, largest;
};
Numbers numbers_of(ScalarType type) {
  if (type == ScalarType::F16) return {0x1p-10, 0x1p-24, 65504};
  if (type == ScalarType::BF16) return {0x1p-7, 0x1p-133, 0x1.fep127};
  if (type == ScalarType::F32) return {0x1p-23, 0x1p-149, 0x1.fffffep127};
  return {0x1p-52, 0x1p-1074, 0x1.fffffffffffffp1023};
}

Replacement next_after(Builder& b, const OpCall& call) {
  const Numbers numbers = numbers_of(promoted_type(call));
  const Term x = operand(b, call, "self").to(ScalarType::F64);
  const Term towards = operand(b, call, "other").to(ScalarType::F64);
  // Fractions of the smallest f64 numbers would be rounded, so these are scaled up first.
  const bool is_raised = numbers.smallest < 0x1p-1000;
  const Term is_tiny = abs(x) < 0x1p-900;
  const Term raised = is_raised ? where(is_tiny, x * 0x1p128, x) : Formula(x);
  const Term part = abs(raised) * (numbers.distance * 0.625);
  const Term least = part.call("aten.full_like.default", {numbers.smallest * (is_raised ? 0x1p128 : 1)});
  const Term distance = is_raised ? where(is_tiny, max(part, least), part) : max(part, least);
  Term next = where(x < towards, raised + distance, raised - distance);
  if (is_raised) next = where(is_tiny, next * 0x1p-128, next);
  const Term sign = x.call("aten.sign.default");
  next = where(abs(x) == infinity, sign * numbers.largest, next);
  next = where(x == towards, towards, next);
  return result(call, where(is_nan(x) | is_nan(towards), x + towards, next));
}

}  // namespace

std::span<const OpLine> neighbor_ops() {
  static constexpr OpLine lines[] = {
      {"aten.nextafter(Tensor self, Tensor other)", formula(next_after, InPlaceVariant)},
  };
  return lines;
}

}  // namespace depute::internal
