// Describes the calls that the runtime's kernel of an op accepts, from the op's row, and converts other
// calls.
//
//   .accepts = "self f32 f16 bf16; index i64"     element types; other types are converted
//   .accepts = "input rank 4"                     ranks, also as a range: "self f32 rank 1-16"
//   .accepts = "self any"                         all element types, including complex ones
//   .accepts = "self f32 to_complex"              the result may be complex, the argument not
//   .fit = by_shifting                            rewrites calls that the kernel would compute wrongly
//
// A tensor of another type is converted to the first listed type that holds all its values, and results are
// converted back. Calls that remain unsupported are refused in planning.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "depute/program/op.h"

namespace depute {

struct KernelRules {
  std::string_view accepts;
  DecomposeFunction fit = nullptr;
};

// Returns the rules of an op in PyTorch's table; empty rules for other ops.
KernelRules kernel_rules(const OpDef& def);

// Builds the call in a form that its kernel accepts. Empty if the call is accepted already, or if there is no
// such form.
Replacement fit_kernel(Builder& b, const OpCall& call);
// Like fit_kernel(), with type conversions only.
Replacement fit_types(Builder& b, const OpCall& call);

// Returns the reason why the kernel rejects the call: "its kernel takes index as i64, not u8".
std::optional<std::string> refused_by_kernel(const OpCall& call);

}  // namespace depute
