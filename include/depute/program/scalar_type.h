// Element types of tensors: PyTorch's names, sizes, and the numbers used by torch.export and ExecuTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)

namespace depute {

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

std::string_view name(ScalarType type);        // "f32", "i64", "bool", "bf16", "f8e4m3fn"
std::string_view torch_name(ScalarType type);  // "float32", "int64", as in torch.float32
std::optional<ScalarType> scalar_type_from_name(std::string_view name);
std::size_t item_size(ScalarType type);  // bytes per element

bool is_floating(ScalarType type);  // f16, bf16, f32, f64 and the 8-bit floats
bool is_complex(ScalarType type);
ScalarType complex_of(ScalarType part);  // complex type with parts of type `part`; c64 for integers
// Type of the parts of a complex type; other types are returned unchanged.
ScalarType part_of(ScalarType type);
bool is_integral(ScalarType type);  // signed and unsigned integers, but not bool

// torch's numbering in .pt2 files (torch/_export/serde/schema.py): 1 = uint8 ... 35 = uint64.
std::optional<ScalarType> scalar_type_from_pt2(std::int64_t number);
// ExecuTorch's numbering in .pte files (c10::ScalarType): 0 = uint8 ...; nullopt for f8e8m0fnu.
std::optional<int> executorch_number(ScalarType type);
std::optional<ScalarType> scalar_type_from_executorch(std::int64_t number);

// Result type of a binary PyTorch operation on tensors of these types.
ScalarType promote(ScalarType a, ScalarType b);

}  // namespace depute

#pragma GCC visibility pop
