// Decompositions written as text in the op's row, parsed when a program first needs them:
//
//   {"aten.frac(Tensor self)", composite_pointwise(text<"self - trunc(self)">)},
//
//   rule    = {name "=" value ";"} value {"," value}         one value for each result
//   value   = test ["?" value ":" value]                     chosen by what is known when the rule is applied
//   test    = values joined by | & == != < <= > >= + - * /, with - and ! in front, in the usual order
//   operand = number | 'text' | name | [value, ..] | operand "[" number "]" | op(value, ..)
//
// A name is an argument of the op, a value given before, or a constant: none, true, false, inf, nan, pi, an
// element type. An op is aten's: abs is aten.abs.default, sum.dim_IntList has its overload. Operators on tensors are
// aten's as well; on numbers they are computed, and == compares anything known. The last operand is built first.
//
// These functions build nothing, or only what they need:
//
//   dtype(x)  is_float(x)  is_complex(x)  rank(x)  sizes(x)  size(x, dim)  dims(x)     of a tensor
//   to(x, dtype)  computed(x)  viewed(x, sizes)   conversions, if any: to a type, to the type that eager PyTorch
//                                                 computes in, to sizes
//   promoted(a)  wide(a)                          an argument in the call's promoted type, or the type to compute in
//   known(a)                                      a number; fails if it is known only at run time
//   fail('reason')  keep                          an error in the arguments; leave the call as it is
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>

#include "depute/builder.h"
#include "ops/op_table.h"

namespace depute::internal {

// The type that promoted arguments are converted to: the promoted one, the one that eager PyTorch computes it in (f32
// for half precision), or for Wide a floating-point one. Unless as given, results get the types of the op's rule.
enum class Operands : std::uint8_t { AsGiven, Promoted, Computed, Wide };

class RuleText {
 public:
  explicit RuleText(std::string_view text);
  ~RuleText();
  RuleText(const RuleText&) = delete;
  RuleText& operator=(const RuleText&) = delete;

  Replacement build(Builder& b, const OpCall& call, Operands operands) const;

  struct Rule;

 private:
  std::unique_ptr<const Rule> rule_;
};

template <Text rule, Operands operands>
Replacement build_text(Builder& b, const OpCall& call) {
  static const auto& parsed = *new RuleText(rule.chars);  // never destroyed
  return parsed.build(b, call, operands);
}

template <Text rule>
constexpr DecomposeFunction text = build_text<rule, Operands::AsGiven>;
template <Text rule>
constexpr DecomposeFunction promoted_text = build_text<rule, Operands::Promoted>;
template <Text rule>
constexpr DecomposeFunction computed_text = build_text<rule, Operands::Computed>;
template <Text rule>
constexpr DecomposeFunction wide_text = build_text<rule, Operands::Wide>;

}  // namespace depute::internal
