#include "depute/program/type.h"

#include <algorithm>
#include <array>

namespace depute {
namespace {

enum class Kind : std::uint8_t { Bool, Unsigned, Signed, Float, Complex };

struct Info {
  std::string_view name;
  std::string_view torch_name;
  std::size_t size;
  Kind kind;
  int pt2;         // number in .pt2 files
  int executorch;  // c10 number; -1 if ExecuTorch does not have the type
};

// In the order of ScalarType.
constexpr std::array<Info, scalar_type_count> infos = {{
    {"u8", "uint8", 1, Kind::Unsigned, 1, 0},
    {"i8", "int8", 1, Kind::Signed, 2, 1},
    {"i16", "int16", 2, Kind::Signed, 3, 2},
    {"i32", "int32", 4, Kind::Signed, 4, 3},
    {"i64", "int64", 8, Kind::Signed, 5, 4},
    {"f16", "float16", 2, Kind::Float, 6, 5},
    {"f32", "float32", 4, Kind::Float, 7, 6},
    {"f64", "float64", 8, Kind::Float, 8, 7},
    {"c32", "complex32", 4, Kind::Complex, 9, 8},
    {"c64", "complex64", 8, Kind::Complex, 10, 9},
    {"c128", "complex128", 16, Kind::Complex, 11, 10},
    {"bool", "bool", 1, Kind::Bool, 12, 11},
    {"bf16", "bfloat16", 2, Kind::Float, 13, 15},
    {"u16", "uint16", 2, Kind::Unsigned, 28, 27},
    {"u32", "uint32", 4, Kind::Unsigned, 34, 28},
    {"u64", "uint64", 8, Kind::Unsigned, 35, 29},
    {"f8e4m3fn", "float8_e4m3fn", 1, Kind::Float, 29, 24},
    {"f8e5m2", "float8_e5m2", 1, Kind::Float, 30, 23},
    {"f8e4m3fnuz", "float8_e4m3fnuz", 1, Kind::Float, 31, 26},
    {"f8e5m2fnuz", "float8_e5m2fnuz", 1, Kind::Float, 32, 25},
    {"f8e8m0fnu", "float8_e8m0fnu", 1, Kind::Float, 33, -1},
}};

const Info& info(ScalarType type) {
  return infos[static_cast<std::size_t>(type)];
}

template <typename Predicate>
std::optional<ScalarType> find(Predicate predicate) {
  auto found = std::ranges::find_if(infos, predicate);
  if (found == infos.end()) return std::nullopt;
  return static_cast<ScalarType>(found - infos.begin());
}

ScalarType promote_integers(ScalarType a, ScalarType b) {
  bool a_signed = info(a).kind == Kind::Signed;
  bool b_signed = info(b).kind == Kind::Signed;
  if (a_signed == b_signed) return item_size(a) >= item_size(b) ? a : b;
  ScalarType with_sign = a_signed ? a : b;
  ScalarType without = a_signed ? b : a;
  if (item_size(with_sign) > item_size(without)) return with_sign;
  if (item_size(without) == 1) return ScalarType::I16;
  if (item_size(without) == 2) return ScalarType::I32;
  return ScalarType::I64;
}

ScalarType promote_floats(ScalarType a, ScalarType b) {
  if (item_size(a) != item_size(b)) return item_size(a) > item_size(b) ? a : b;
  return ScalarType::F32;  // f16 with bf16, and two different 8-bit floats
}

}  // namespace

std::string_view name(ScalarType type) {
  return info(type).name;
}
std::string_view torch_name(ScalarType type) {
  return info(type).torch_name;
}
std::size_t item_size(ScalarType type) {
  return info(type).size;
}

std::optional<ScalarType> scalar_type_from_name(std::string_view text) {
  return find([&](const Info& i) { return i.name == text; });
}

bool is_floating(ScalarType type) {
  return info(type).kind == Kind::Float;
}
bool is_complex(ScalarType type) {
  return info(type).kind == Kind::Complex;
}
ScalarType complex_of(ScalarType part) {
  if (part == ScalarType::F64) return ScalarType::C128;
  if (part == ScalarType::F16) return ScalarType::C32;
  return ScalarType::C64;
}
ScalarType part_of(ScalarType type) {
  if (type == ScalarType::C128) return ScalarType::F64;
  if (type == ScalarType::C32) return ScalarType::F16;
  return type == ScalarType::C64 ? ScalarType::F32 : type;
}
bool is_integral(ScalarType type) {
  return info(type).kind == Kind::Signed || info(type).kind == Kind::Unsigned;
}

std::optional<ScalarType> scalar_type_from_pt2(std::int64_t number) {
  return find([&](const Info& i) { return i.pt2 == number; });
}

std::optional<int> executorch_number(ScalarType type) {
  if (info(type).executorch < 0) return std::nullopt;
  return info(type).executorch;
}

std::optional<ScalarType> scalar_type_from_executorch(std::int64_t number) {
  if (number < 0) return std::nullopt;
  return find([&](const Info& i) { return i.executorch == number; });
}

ScalarType promote(ScalarType a, ScalarType b) {
  if (a == b) return a;
  Kind ka = info(a).kind;
  Kind kb = info(b).kind;
  if (ka == Kind::Complex || kb == Kind::Complex) {
    ScalarType pa = part_of(a);
    ScalarType pb = part_of(b);
    ScalarType part = promote(pa, pb);
    return complex_of(is_floating(part) ? part : ScalarType::F32);
  }
  if (ka == Kind::Float && kb == Kind::Float) return promote_floats(a, b);
  if (ka == Kind::Float) return a;
  if (kb == Kind::Float) return b;
  if (ka == Kind::Bool) return b;
  if (kb == Kind::Bool) return a;
  return promote_integers(a, b);
}

}  // namespace depute
