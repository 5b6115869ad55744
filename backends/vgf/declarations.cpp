#include "declarations.h"

#include <algorithm>

namespace depute::vgf {
namespace {

using spirv::Id;
using spirv::Opcode;
using tosa::DType;
using tosa::Shape;

constexpr std::uint32_t uniform_constant = 0;  // storage class
constexpr std::uint32_t bfloat16 = 0;          // encoding of a float

Shape inner_shape(const Shape& shape) {
  Shape inner;
  for (std::size_t i = 1; i < shape.size(); ++i) inner.push_back(shape[i]);
  return inner;
}

std::uint32_t width_of(DType dtype) {
  return static_cast<std::uint32_t>(stored_bits(dtype));
}

}  // namespace

Literal literal_of(std::span<const std::int32_t> numbers) {
  Literal literal{.dtype = DType::I32, .shape = {static_cast<std::int64_t>(numbers.size())}, .bits = {}};
  for (const std::int32_t number : numbers) literal.bits.push_back(static_cast<std::uint32_t>(number));
  return literal;
}

Id Declarations::element_type(DType dtype) {
  Id& id = element_types_[dtype];
  if (id != 0) return id;
  id = new_id();
  if (dtype == DType::Bool)
    add(Opcode::TypeBool, {id});
  else if (dtype == DType::BF16)
    add(Opcode::TypeFloat, {id, width_of(dtype), bfloat16});
  else if (tosa::is_float(dtype))
    add(Opcode::TypeFloat, {id, width_of(dtype)});
  else
    add(Opcode::TypeInt, {id, width_of(dtype), 0});
  return id;
}

Id Declarations::array_type(std::size_t size) {
  Id& id = array_types_[size];
  if (id != 0) return id;
  id = new_id();
  const Id element = element_type(DType::I32);
  add(Opcode::TypeArray, {id, element, index(size)});
  return id;
}

// The sizes of a type, which are an array.
Id Declarations::sizes(const Shape& shape) {
  const Id type = array_type(shape.size());
  const Id id = new_id();
  spirv::Words operands = {type, id};
  for (const std::int64_t size : shape) operands.push_back(index(static_cast<std::size_t>(size)));
  add(Opcode::ConstantComposite, operands);
  return id;
}

Id Declarations::tensor_type(DType dtype, const Shape& shape) {
  if (shape.empty()) return tensor_type(dtype, {1});
  if (stored_type(dtype) != dtype) return tensor_type(stored_type(dtype), shape);
  Id& id = tensor_types_[{dtype, shape}];
  if (id != 0) return id;
  id = new_id();
  const Id element = element_type(dtype);
  const Id rank = index(shape.size());
  const Id of_sizes = sizes(shape);
  add(Opcode::TypeTensor, {id, element, rank, of_sizes});
  return id;
}

Id Declarations::pointer_type(DType dtype, const Shape& shape) {
  if (shape.empty()) return pointer_type(dtype, {1});
  Id& id = pointer_types_[{dtype, shape}];
  if (id != 0) return id;
  id = new_id();
  add(Opcode::TypePointer, {id, uniform_constant, tensor_type(dtype, shape)});
  return id;
}

Id Declarations::scalar(DType dtype, std::uint64_t bits) {
  Id& id = scalars_[{dtype, bits}];
  if (id != 0) return id;
  const Id type = element_type(dtype);
  id = new_id();
  const auto low = static_cast<std::uint32_t>(bits);
  if (dtype == DType::Bool)
    add(bits != 0 ? Opcode::ConstantTrue : Opcode::ConstantFalse, {type, id});
  else if (width_of(dtype) == 64)
    add(Opcode::Constant, {type, id, low, static_cast<std::uint32_t>(bits >> 32)});
  else
    add(Opcode::Constant, {type, id, low});
  return id;
}

Id Declarations::tensor(const Literal& literal) {
  Id& id = tensors_[literal];
  if (id != 0) return id;
  const bool is_zero = std::ranges::all_of(literal.bits, [](std::uint64_t bits) { return bits == 0; });
  return id = tensor(literal.dtype, literal.shape.empty() ? Shape{1} : literal.shape, literal.bits, is_zero);
}

// A tensor is composed of the tensors along its first dimension.
Id Declarations::tensor(DType dtype, const Shape& shape, std::span<const std::uint64_t> bits, bool is_zero) {
  if (shape.empty()) return scalar(dtype, bits.front());
  const Id type = tensor_type(dtype, shape);
  const Id id = new_id();
  if (is_zero) {
    add(Opcode::ConstantNull, {type, id});
    return id;
  }
  const Shape inner = inner_shape(shape);
  const std::size_t size = bits.size() / static_cast<std::size_t>(shape[0]);
  spirv::Words operands = {type, id};
  for (std::size_t at = 0; at < bits.size(); at += size)
    operands.push_back(tensor(dtype, inner, bits.subspan(at, size), false));
  add(Opcode::ConstantComposite, operands);
  return id;
}

Id Declarations::filled_tensor(DType dtype, const Shape& shape, std::uint64_t bits) {
  Id& id = filled_tensors_[{{dtype, shape}, bits}];
  if (id != 0) return id;
  const Id type = tensor_type(dtype, shape);
  const Id element = scalar(dtype, bits);
  id = new_id();
  if (bits == 0)
    add(Opcode::ConstantNull, {type, id});
  else
    add(Opcode::ConstantCompositeReplicate, {type, id, element});
  return id;
}

}  // namespace depute::vgf
