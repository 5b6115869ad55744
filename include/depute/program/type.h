// Types of values: tensors with sizes and strides (possibly symbolic), symbolic scalars, and the other types
// of torch.export.
//
//   f32[s0, 3, 8, 8]                        a contiguous tensor
//   f32[8, 16]{strides=[1, 8]}              a transposed one
//   sym_int[2*s96]   sym_bool   none   custom_obj["ns.Class"]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "depute/program/scalar_type.h"
#include "depute/program/small_vector.h"
#include "depute/program/sym.h"

#pragma GCC visibility push(default)

namespace depute {

using Dims = SmallVector<SymInt, 4>;

inline SymInt product(const Dims& dims) {
  return product(std::span(dims.data(), dims.size()));
}

inline constexpr std::size_t max_rank = 16;  // limit of ExecuTorch
// Upper bound on constant sizes, so that arithmetic on sizes does not overflow.
inline constexpr std::int64_t max_static_size = std::int64_t{1} << 48;

struct TensorType {
  ScalarType dtype = ScalarType::F32;
  Dims sizes;    // number of elements per dimension
  Dims strides;  // in elements; contiguous strides are always stored as empty

  std::size_t rank() const { return sizes.size(); }
  bool is_contiguous() const { return strides.empty(); }
  bool is_static() const;  // true if all sizes are constant
  SymInt numel() const;
  std::optional<std::int64_t> static_numel() const;
  // Bytes of a dense tensor of these sizes; nullopt if symbolic or too large.
  std::optional<std::size_t> static_bytes() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// Drops contiguous strides.
TensorType make_tensor(ScalarType dtype, Dims sizes, Dims strides = {});
Dims contiguous_strides(const Dims& sizes);

// Dimensions from outermost to innermost in memory (stable sort by descending stride); identity if
// contiguous. Returns nullopt if a stride is symbolic or 0, or the tensor is not dense (a slice of a larger
// one).
std::optional<std::vector<std::uint8_t>> dim_order(const TensorType& type);

struct Type {
  enum class Kind : std::uint8_t {
    Tensor,
    SymInt,
    SymFloat,
    SymBool,
    None,
    CustomObj,
    Token,
    String,
    Int,
    Float,
    Bool
  };
  Kind kind = Kind::None;
  TensorType tensor;              // Tensor
  const SymExpr* expr = nullptr;  // SymInt, SymFloat, SymBool: the value as an expression, if known
  Name class_name;                // CustomObj

  bool is_tensor() const { return kind == Kind::Tensor; }
  friend bool operator==(const Type&, const Type&) = default;
};

Type tensor_type(TensorType tensor);
Type sym_type(Type::Kind kind, const SymExpr* expr);

std::string str(const TensorType& type);  // as in the text form
std::string str(const Type& type);

}  // namespace depute

#pragma GCC visibility pop
