// Integers that a program quantizes: nodes between dequantize and quantize nodes are computed without floats.
//
//   dequantize(x: i8), dequantize(w: i8), convolution, relu, quantize   ->   CONV2D, RESCALE, CLAMP
//
// A value of the program that is a float has integers if a dequantize node makes it, or if an operator in between
// computes it with the scale by which all of its readers quantize it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "depute/program/data.h"
#include "depute/program/op.h"
#include "graph.h"

namespace depute::tosa {

inline constexpr std::string_view quantize_op = "quantized_decomposed.quantize_per_tensor.default";
inline constexpr std::string_view dequantize_op = "quantized_decomposed.dequantize_per_tensor.default";
inline constexpr std::string_view dequantize_channels_op =
    "quantized_decomposed.dequantize_per_channel.default";

// A number is scale * (integer - zero_point). Integers of 16 bits have the zero point 0.
struct Quantization {
  double scale = 1;
  std::int32_t zero_point = 0;
  std::int32_t bits = 8;  // or 16
  DType dtype() const { return bits == 8 ? DType::I8 : DType::I16; }
  std::int32_t least() const { return -(1 << (bits - 1)); }
  std::int32_t most() const { return (1 << (bits - 1)) - 1; }
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

// PyTorch's rounding: to the nearest even number, with the reciprocal of the scale as f32.
std::int32_t quantized(float number, const Quantization& quantization);

// Returns the scale of a node that quantizes to or dequantizes from all numbers of i8 or i16, or nullopt.
std::optional<Quantization> quantization_of(const Node& node);

// Returns the elements of a tensor of numbers, or nullopt if only a hash of them is known.
std::optional<std::vector<double>> numbers_of(const TensorData& data);

// Results of a function: for each integer of 8 bits, or, of 16 bits, for every 128th one from -32768 to 32768, between
// which TOSA interpolates.
using IntegerTable = std::vector<std::int32_t>;
// The table of a node for its operand. The other operands are constants with one element. Returns nullopt if no kernel
// computes the node. Both quantizations have the same bits.
using ContentOf = std::function<const TensorData*(const Value& value)>;
std::optional<IntegerTable> table_of(const Node& node, const Value& operand, const Quantization& of_operand,
                                     const Quantization& of_result, const ContentOf& constant_of);
// The table that changes the scale of integers of 8 bits.
IntegerTable table_between(const Quantization& from, const Quantization& to);

}  // namespace depute::tosa
