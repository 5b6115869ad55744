// Decompositions written as text in the op's row, parsed when a program first needs them:
//
//   {"aten.frac(Tensor self)", composite_pointwise(text<"self - trunc(self)">)},
//
//   rule    = {name "=" value ";"} value {"," value}         one value for each result
//   value   = test ["?" value ":" value]                     chosen by what is known when the rule is applied
//   test    = operands joined by | & == != < <= > >= + - * /, or one behind - or !
//   operand = number | 'text' | name ["[" digit "]"] | "[" values "]" | "(" value ")" | op "(" values ")"
//
// Operators bind in the usual order. A name is an argument of the op, a value named before, or a constant: none,
// true, false, inf, nan, pi, an element type. An op is aten's: abs is aten.abs.default, where is aten.where.self, and sum.dim_IntList names
// its overload. x[0] is the first result of an op with several. Operators on tensors are aten's, too; on
// numbers they are computed, and == compares anything that is known. Of several operands the last is built
// first.
//
// These functions build nothing, or only what they need:
//
//   dtype(x)  is_float(x)  is_complex(x)  rank(x)  sizes(x)  dims(x)    of a tensor
//   is_number(a)               whether the argument is known now
//   to(x, dtype)  computed(x)  converts to a type, or to the type that eager PyTorch computes x in
//   as_result(x)               converts to the type of the op's rule
//   promoted(a)  wide(a)       an argument in the promoted type of the call, or in a floating-point one
//   known(a)                   a number; fails if it is known only at run time
//   fail('..')  refuse('..')   fails: torch takes no such call; this compiler takes none
//   keep()                     leaves the call as it is
//
// Rules that several rows use are functions of such texts, in rule_text.cpp.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>

#include "depute/program/builder.h"
#include "ops/op_table.h"

namespace depute::internal {

// The type that promoted arguments are converted to: the promoted one, the one that eager PyTorch computes
// it in (f32 for half precision), or for Wide a floating-point one. Unless as given, results get the types
// of the op's rule.
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
