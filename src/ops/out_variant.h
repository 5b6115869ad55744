// The overload of an op that takes a number, and its out variant.
//
//   aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
//   aten.add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
//
// The out variant of an op, which writes its results to tensors of the caller: torch.add(x, y, out=z).
//
//   aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
//   aten.add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op_table.h"

namespace depute::internal {

// The line of the overload that takes a number as `other`. If the op's kernel has none for it, it
// decomposes like the op, or into the op.
struct ScalarLine {
  explicit ScalarLine(const OpLine& of_tensors);
  std::string schema, out;
  OpLine line;
};

// Returns the schema of a line, with the arguments of the op that it is another name of.
std::string schema_of(const OpLine& line);

struct OutVariant {
  std::string name;                         // "aten.add.out"
  std::vector<std::string_view> arguments;  // names of the out tensors, one for each result: "out"
  // True if the line or its kernel names it; otherwise the name is derived from the op's.
  bool is_explicit = false;
};

// Returns nullopt for an op without an out variant: one that writes already, or returns views, lists or
// numbers.
std::optional<OutVariant> out_variant(const OpLine& line);

// Returns its schema: the op's arguments, without those that out tensors replace, and the out tensors.
std::string out_schema(const OpLine& line, const OutVariant& variant);

}  // namespace depute::internal
