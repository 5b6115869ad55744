// What the runtime's kernel of an op takes, as the op's row says, and how other calls are brought to that.
//
//   .accepts = "self f32 f16 bf16; index i64"     element types, the one that others become first
//   .accepts = "input rank 4"                     or 3-5; both may stand together: "self f32 rank 1-16"
//   .accepts = "self any"                         complex numbers, too, which else no kernel takes or gives
//   .accepts = "self f32 to_complex"              it gives complex numbers
//   .fit = by_shifting                            another form of a call that the kernel would get wrong
//
// A tensor of another type becomes the first one named that holds all its values, and results that come out
// in that type are brought back. What remains outside is refused when calls are planned.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "depute/op.h"

namespace depute {

struct KernelRules {
  std::string_view accepts;
  DecomposeFunction fit = nullptr;
};

// Of an op of PyTorch's table; nothing of any other.
KernelRules kernel_rules(const OpDef& def);

// The call in a form that its kernel takes, built with `b`; empty when it is one, or when there is none.
Replacement fit_kernel(Builder& b, const OpCall& call);
// The same by conversions of types alone.
Replacement fit_types(Builder& b, const OpCall& call);

// Why the kernel does not take the call: "its kernel takes index as i64, not u8".
std::optional<std::string> refused_by_kernel(const OpCall& call);

}  // namespace depute
