// The limits of a rule as data: types, ranks, constants, ranges of arguments. The check of a node and the
// table of `depute backends xnnpack` use the same list, so they cannot disagree.
//
//   static constexpr Limit limits[] = {limit::ranks("input", 3, 4), limit::constant("bias"),
//                                      limit::ints("stride", 1)};
//   {.op = "aten.convolution.default", .forms = {limits}, ...}
//
// The rule's own check handles relations between arguments or to neighbors; its conditions describe them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "depute/program/type.h"

namespace depute::xnnpack {

enum class LimitKind : std::uint8_t {
  Rank,         // between least and most dimensions
  DType,        // only this type
  Constant,     // a constant of the program, if present
  Weight,       // a constant, or dequantized from one in a form that the product accepts
  Number,       // known at compile time, within bounds
  Above,        // known at compile time, more than `least`
  Ints,         // a list of numbers known at compile time, each within bounds
  OneOf,        // one of these numbers, known at compile time
  Text,         // this string
  OneOpenSize,  // at most one dynamic size
  KnownSizes,   // all sizes are constant
  Batch,        // the first size may not be 0 at run time
  Matrix,       // none of the last two sizes may be 0 at run time
  FirstResult,  // no other result is used
};

// `of` names an argument as the op's schema does; "result" is the first result.
struct Limit {
  LimitKind kind;
  std::string_view of = {};
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  ScalarType dtype = ScalarType::F32;
  std::string_view text = {};
  std::span<const double> values = {};
};

// The forms of a rule: a node must meet all limits of one form. A rule without forms adds no limits.
using Form = std::span<const Limit>;
using Forms = std::array<Form, 2>;

namespace limit {

constexpr double max_int = std::numeric_limits<std::int32_t>::max();  // limit of the payload's fields

constexpr Limit ranks(std::string_view of, double least, double most) {
  return {.kind = LimitKind::Rank, .of = of, .least = least, .most = most};
}
constexpr Limit dtype(std::string_view of, ScalarType type) {
  return {.kind = LimitKind::DType, .of = of, .dtype = type};
}
constexpr Limit constant(std::string_view of) {
  return {.kind = LimitKind::Constant, .of = of};
}
constexpr Limit weight(std::string_view of) {
  return {.kind = LimitKind::Weight, .of = of};
}
constexpr Limit number(std::string_view of) {
  return {.kind = LimitKind::Number, .of = of};
}
constexpr Limit above(std::string_view of, double least) {
  return {.kind = LimitKind::Above, .of = of, .least = least};
}
constexpr Limit ints(std::string_view of) {
  return {.kind = LimitKind::Ints, .of = of};
}
constexpr Limit ints(std::string_view of, double least) {
  return {.kind = LimitKind::Ints, .of = of, .least = least, .most = max_int};
}
constexpr Limit one_of(std::string_view of, std::span<const double> values) {
  return {.kind = LimitKind::OneOf, .of = of, .values = values};
}
constexpr Limit text(std::string_view of, std::string_view text) {
  return {.kind = LimitKind::Text, .of = of, .text = text};
}
constexpr Limit one_open_size(std::string_view of) {
  return {.kind = LimitKind::OneOpenSize, .of = of};
}
constexpr Limit known_sizes(std::string_view of) {
  return {.kind = LimitKind::KnownSizes, .of = of};
}
constexpr Limit batch(std::string_view of) {
  return {.kind = LimitKind::Batch, .of = of};
}
constexpr Limit matrix(std::string_view of) {
  return {.kind = LimitKind::Matrix, .of = of};
}
constexpr Limit first_result_alone() {
  return {.kind = LimitKind::FirstResult, .of = "result"};
}

}  // namespace limit

}  // namespace depute::xnnpack
