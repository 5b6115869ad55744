// Declares types and constants of a SPIR-V module, each once and at its first use.
//
//   tensor_type(F32, {2, 3})   ->   %3 = OpTypeFloat 32
//                                   %7 = OpConstantComposite %6 %8 %9
//                                   %2 = OpTypeTensorARM %3 %8 %7
//
// Ids count in the order in which MLIR's serializer assigns them, which Arm's model-converter uses: so the module is the
// converter's word for word.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/tosa/graph.h"
#include "spirv.h"

namespace depute::vgf {

// The type in which elements are stored: SPIR-V has no integers of 4 bits.
constexpr tosa::DType stored_type(tosa::DType dtype) {
  return dtype == tosa::DType::I4 ? tosa::DType::I8 : dtype;
}

// Bits of a stored element. Integers of 48 bits have 64.
inline std::size_t stored_bits(tosa::DType dtype) {
  return dtype == tosa::DType::I48 ? 64 : tosa::bit_count(stored_type(dtype));
}

// A small tensor whose elements are in the module.
struct Literal {
  tosa::DType dtype = tosa::DType::I32;
  tosa::Shape shape;
  std::vector<std::uint64_t> bits;  // of each element, in row-major order

  friend bool operator<(const Literal& a, const Literal& b) {
    return std::tie(a.dtype, a.shape, a.bits) < std::tie(b.dtype, b.shape, b.bits);
  }
};

// A list of integers, such as a stride.
Literal literal_of(std::span<const std::int32_t> numbers);

class Declarations {
 public:
  spirv::Id new_id() { return next_id_++; }
  spirv::Id id_count() const { return next_id_; }
  const spirv::Words& words() const { return words_; }

  // A tensor without dimensions has one element.
  spirv::Id tensor_type(tosa::DType dtype, const tosa::Shape& shape);
  spirv::Id pointer_type(tosa::DType dtype, const tosa::Shape& shape);
  spirv::Id scalar(tosa::DType dtype, std::uint64_t bits);
  spirv::Id index(std::size_t number) { return scalar(tosa::DType::I32, number); }
  // An attribute of an operator: its elements one by one.
  spirv::Id tensor(const Literal& literal);
  // A tensor whose elements all have these bits.
  spirv::Id filled_tensor(tosa::DType dtype, const tosa::Shape& shape, std::uint64_t bits);
  void add(spirv::Opcode opcode, std::initializer_list<std::uint32_t> operands) {
    spirv::add(words_, opcode, operands);
  }
  void add(spirv::Opcode opcode, std::span<const std::uint32_t> operands) {
    spirv::add(words_, opcode, operands);
  }

 private:
  using TensorType = std::pair<tosa::DType, tosa::Shape>;

  spirv::Id element_type(tosa::DType dtype);
  spirv::Id array_type(std::size_t size);
  spirv::Id sizes(const tosa::Shape& shape);
  spirv::Id tensor(tosa::DType dtype, const tosa::Shape& shape, std::span<const std::uint64_t> bits,
                   bool is_zero);

  spirv::Id next_id_ = 1;
  spirv::Words words_;
  std::map<tosa::DType, spirv::Id> element_types_;
  std::map<std::size_t, spirv::Id> array_types_;
  std::map<TensorType, spirv::Id> tensor_types_, pointer_types_;
  std::map<std::pair<tosa::DType, std::uint64_t>, spirv::Id> scalars_;
  std::map<Literal, spirv::Id> tensors_;
  std::map<std::pair<TensorType, std::uint64_t>, spirv::Id> filled_tensors_;
};

}  // namespace depute::vgf
