// Reads one line of the op table, PyTorch's schema notation, into the arguments and returns of an OpDef.
#pragma once

#include <string>
#include <string_view>

#include "depute/op.h"

namespace depute::internal {

// Fills name, schema, args and returns. CHECKs the text: it is ours.
void parse_schema(std::string_view text, OpDef& def);

// The same for a text from elsewhere: what is wrong with it and where, or nothing.
std::string read_schema(std::string_view text, OpDef& def);

// Whether a call may have this argument.
bool fits(const Argument& argument, const ArgDef& def);

// "aten.add.Tensor" of "aten.add.Tensor(Tensor self, ...) -> Tensor".
std::string_view schema_name(std::string_view text);

// The names of an op's twins: aten.relu_.default of aten.relu.default, aten.t_copy.default of aten.t.default.
std::string inplace_name(std::string_view name);
std::string copy_name(std::string_view name);

// The schema of the op that writes its result into the first argument:
//   aten.relu.default(Tensor self) -> Tensor      aten.relu_.default(Tensor(a!) self) -> Tensor(a!)
std::string inplace_schema(std::string_view text);

// The schema of a view's twin with memory of its own:
//   aten.t.default(Tensor(a) self) -> Tensor(a)   aten.t_copy.default(Tensor self) -> Tensor
std::string copy_schema(std::string_view text);

}  // namespace depute::internal
