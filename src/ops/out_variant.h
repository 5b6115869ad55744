// The overload of an op that writes its results to tensors of the caller: torch.add(x, y, out=z).
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

struct OutVariant {
  std::string name;                         // "aten.add.out"
  std::vector<std::string_view> arguments;  // of the out tensors, one for each result: "out"
  bool is_told = false;                     // by the line or its kernel; else it follows from the op's name
};

// Nothing for an op of which torch has none: one that writes already, or gives views, lists or numbers.
std::optional<OutVariant> out_variant(const OpLine& line);

// Its schema: the op's arguments, but for those that the out tensors stand for, and these.
std::string out_schema(const OpLine& line, const OutVariant& variant);

}  // namespace depute::internal
