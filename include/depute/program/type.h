// Types of values: element types, tensors with sizes and strides (possibly symbolic), symbolic scalars, and the other types
// of torch.export.
//
//   f32[s0, 3, 8, 8]                        a contiguous tensor
//   f32[8, 16]{strides=[1, 8]}              a transposed one
//   sym_int[2*s96]   sym_bool   none   custom_obj["ns.Class"]
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/program/small_vector.h"
#include "depute/program/sym.h"

namespace depute {

// --- element types: PyTorch's names, sizes, and the numbers used by torch.export and ExecuTorch

enum class ScalarType : std::uint8_t {
  U8,
  I8,
  I16,
  I32,
  I64,
  F16,
  F32,
  F64,
  C32,
  C64,
  C128,
  Bool,
  BF16,
  U16,
  U32,
  U64,
  F8E4M3FN,
  F8E5M2,
  F8E4M3FNUZ,
  F8E5M2FNUZ,
  F8E8M0FNU,
};

inline constexpr int scalar_type_count = 21;

DEPUTE_API std::string_view name(ScalarType type);        // "f32", "i64", "bool", "bf16", "f8e4m3fn"
DEPUTE_API std::string_view torch_name(ScalarType type);  // "float32", "int64", as in torch.float32
DEPUTE_API std::optional<ScalarType> scalar_type_from_name(std::string_view name);
DEPUTE_API std::size_t item_size(ScalarType type);  // bytes per element

DEPUTE_API bool is_floating(ScalarType type);  // f16, bf16, f32, f64 and the 8-bit floats
DEPUTE_API bool is_complex(ScalarType type);
// Complex type with parts of type `part`; c64 for integers.
DEPUTE_API ScalarType complex_of(ScalarType part);
// Type of the parts of a complex type; other types are returned unchanged.
DEPUTE_API ScalarType part_of(ScalarType type);
DEPUTE_API bool is_integral(ScalarType type);  // signed and unsigned integers, but not bool

// torch's numbering in .pt2 files (torch/_export/serde/schema.py): 1 = uint8 ... 35 = uint64.
DEPUTE_API std::optional<ScalarType> scalar_type_from_pt2(std::int64_t number);
// ExecuTorch's numbering in .pte files (c10::ScalarType): 0 = uint8 ...; nullopt for f8e8m0fnu.
DEPUTE_API std::optional<int> executorch_number(ScalarType type);
DEPUTE_API std::optional<ScalarType> scalar_type_from_executorch(std::int64_t number);

// Result type of a binary PyTorch operation on tensors of these types.
DEPUTE_API ScalarType promote(ScalarType a, ScalarType b);

// Parses one number of the type, or of the parts of a complex type, into `bytes`: "1.5", "-3", "inf", "true".
// Returns false if the text is invalid or out of range.
DEPUTE_API bool read_number(std::string_view text, ScalarType type, std::byte* bytes);

// --- types

using Dims = SmallVector<SymInt, 4>;

inline SymInt product(const Dims& dims) {
  return product(std::span(dims.data(), dims.size()));
}

inline constexpr std::size_t max_rank = 16;  // limit of ExecuTorch
// Upper bound on constant sizes, so that arithmetic on sizes does not overflow.
inline constexpr std::int64_t max_static_size = std::int64_t{1} << 48;

struct DEPUTE_API TensorType {
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
DEPUTE_API TensorType make_tensor(ScalarType dtype, Dims sizes, Dims strides = {});
DEPUTE_API Dims contiguous_strides(const Dims& sizes);

// Dimensions from outermost to innermost in memory (stable sort by descending stride); identity if
// contiguous. Returns nullopt if a stride is symbolic or 0, or the tensor is not dense (a slice of a larger
// one).
DEPUTE_API std::optional<std::vector<std::uint8_t>> dim_order(const TensorType& type);

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
  bool is_symbolic() const { return kind == Kind::SymInt || kind == Kind::SymFloat || kind == Kind::SymBool; }
  friend bool operator==(const Type&, const Type&) = default;
};

DEPUTE_API Type tensor_type(TensorType tensor);
DEPUTE_API Type sym_type(Type::Kind kind, const SymExpr* expr);

DEPUTE_API std::string str(const TensorType& type);  // as in the text form
DEPUTE_API std::string str(const Type& type);

}  // namespace depute
