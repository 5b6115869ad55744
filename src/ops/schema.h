// Parses one line of the op table, in PyTorch's schema notation, into the arguments and returns of an OpDef.
#pragma once

#include <string>
#include <string_view>

#include "depute/program/op.h"

namespace depute::internal {

// Fills name, schema, args and returns. CHECKs the text, which must be one of ours.
void parse_schema(std::string_view text, OpDef& def);

// Like parse_schema(), for any text. Returns the error and its position, or an empty string.
std::string read_schema(std::string_view text, OpDef& def);

// True if a call may have this argument.
bool fits(const Argument& argument, const ArgDef& def);

// Returns a line of the table in PyTorch's notation: aten's overload is "default" if the line has none,
// the result is a Tensor if it gives none, and "..." are the layout, device and pin_memory of a new
// tensor.
//   aten.relu(Tensor self)                        aten.relu.default(Tensor self) -> Tensor
std::string full_schema(std::string_view line);
// Returns the name of a line's op with its overload, and the name that the op has in a line.
std::string full_name(std::string_view name);
std::string_view name_in_line(std::string_view name);

// Returns "aten.add.Tensor" for "aten.add.Tensor(Tensor self, ...) -> Tensor".
std::string_view schema_name(std::string_view text);

// Return the names of an op's variants: aten.relu_ for aten.relu, aten.t_copy for aten.t.
std::string inplace_name(std::string_view name);
std::string copy_name(std::string_view name);

// Returns the schema of the in-place variant, which writes its result into the first argument:
//   aten.relu.default(Tensor self) -> Tensor      aten.relu_.default(Tensor(a!) self) -> Tensor(a!)
std::string inplace_schema(std::string_view text);

// Returns the schema of a view's copy variant, whose result has its own memory:
//   aten.t.default(Tensor(a) self) -> Tensor(a)   aten.t_copy.default(Tensor self) -> Tensor
std::string copy_schema(std::string_view text);

}  // namespace depute::internal
