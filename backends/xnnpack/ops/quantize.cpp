// Quantization: conversion to integers and back with one scale per tensor, quantized weights, and products
// with dynamically quantized inputs. fuse_quantization.cpp replaces the arithmetic in between by integer
// arithmetic.
#include <fmt/format.h>

#include <cmath>

#include "emitter.h"
#include "node_query.h"
#include "quantized_patterns.h"

namespace depute::xnnpack::ops {
namespace {

Check refuse_quantization(std::string seen, std::string_view allowed) {
  return Refusal{"quantization", std::move(seen), std::string(allowed)};
}

// --- one scale

constexpr std::string_view quantize_per_tensor = "quantized_decomposed.quantize_per_tensor.default";

TensorScale scale_of(const OpCall& call) {
  return {static_cast<float>(call["scale"].as_double()),
          static_cast<std::int32_t>(call["zero_point"].as_double())};
}

Check check_scale(const NodeQuery& node) {
  for (std::string_view name : {"scale", "zero_point", "quant_min", "quant_max"})
    if (!node.call[name].is_number()) return need_number(node, name);
  const auto scale = static_cast<float>(node.call["scale"].as_double());
  if (!(scale > 0 && std::isnormal(scale))) return refuse_argument(node, "scale", "a normal number above 0");
  const double zero = node.call["zero_point"].as_double();
  if (zero < -128 || zero > 127) return refuse_argument(node, "zero_point", "-128 to 127");
  return {};
}

Check need_integers(const TensorType& type) {
  return need_dtype(type, ScalarType::I8);
}

Check check_quantize(const NodeQuery& node) {
  DEPUTE_REFUSE_IF(check_scale(node));
  DEPUTE_REFUSE_IF(need_dtype(node.tensor("input"), ScalarType::F32));
  DEPUTE_REFUSE_IF(need_integers(node.result()));
  const bool is_whole =
      node.call["quant_min"].as_double() == -128 && node.call["quant_max"].as_double() == 127;
  return is_whole ? Check() : refuse_argument(node, "quant_min", "-128, and quant_max 127");
}

void quantize(Emitter& emit, const OpCall& call) {
  emit.result(emit.quantize(emit.input(call, "input"), scale_of(call)));
}

// Integers must have one scale: the producer and all readers must agree on it. A constant is exempt, since it
// is written once per reader.
Check check_meaning(const NodeQuery& node) {
  if (node.is_constant("input")) return {};
  const TensorScale scale = scale_of(node.call);
  const Value& integers = *node.call.value("input");
  const auto agrees = [&](const Node& other) {
    if (other.def() == nullptr || !check_call(other)) return false;
    const OpCall call(other);
    return call["scale"].is_number() && call["zero_point"].is_number() && scale_of(call) == scale;
  };
  const Node* producer = integers.producer();
  if (producer != nullptr && producer->op() == quantize_per_tensor && !agrees(*producer))
    return refuse_quantization("integers quantized with another scale", "the same scale");
  for (const Use& use : integers.uses()) {
    if (use.user()->op() == node.node().op() && !agrees(*use.user()))
      return refuse_quantization("integers that are dequantized with several scales", "one scale");
  }
  return {};
}

Check check_weight_users(const NodeQuery& node, const QuantizedWeight& weight) {
  if (has_only_products(node.context(), weight)) return {};
  return refuse_quantization(
      weight.group == 0 ? "not only used by matrix products" : fmt::format("blocks of {}", weight.group),
      "supported weights of linear or convolution");
}

Check check_dequantize(const NodeQuery& node) {
  DEPUTE_REFUSE_IF(need_integers(node.tensor("input")));
  DEPUTE_REFUSE_IF(check_scale(node));
  if (quantized_weight(node.context(), *node.node().result())) return {};
  DEPUTE_REFUSE_IF(need_dtype(node.result(), ScalarType::F32));
  return check_meaning(node);
}

// --- weights

void weight(Emitter& emit, const QuantizedWeight& found) {
  const Constant integers = *emit.constant_of(emit.input(*found.integers));
  const Constant scales = found.scales == nullptr ? filled(ScalarType::F32, {1}, found.scale)
                                                  : to_f32(*emit.constant_of(emit.input(*found.scales)));
  Constant floats = dequantized(integers, scales, found.dim, found.group);
  floats.is_4bit = found.is_4bit;
  emit.result(emit.constant(std::move(floats)));
}

Check check_weight(const NodeQuery& node) {
  const auto found = quantized_weight(node.context(), *node.node().result());
  if (found) return check_weight_users(node, *found);
  return refuse_quantization(std::string(node.node().op().str()),
                             "a constant of i8 with scales of f32 and zero points 0");
}

void dequantize_weight(Emitter& emit, const OpCall& call) {
  weight(emit, *emit.weight_of(*call.node()));
}

void dequantize(Emitter& emit, const OpCall& call) {
  if (const auto found = emit.weight_of(*call.node())) return weight(emit, *found);
  emit.result(emit.dequantize(emit.input(call, "input"), scale_of(call)));
}

// --- dynamically quantized rows

Check check_rows(const NodeQuery& node) {
  if (dynamic_pattern(node.context(), node.node())) return need_elements(node, node.tensor("input").sizes);
  return refuse_quantization(std::string(node.node().op().str()),
                             "i8 used only by linear and convolution with quantized weights");
}

void choose(Emitter&, const OpCall&) {}

void rows(Emitter& emit, const OpCall& call) {
  emit.result_in_rows(emit.input(call, "input"));
}

Check check_blocks(const NodeQuery& node) {
  return node.is_constant("input") ? check_weight(node) : check_rows(node);
}

void dequantize_blocks(Emitter& emit, const OpCall& call) {
  if (const auto found = emit.weight_of(*call.node())) return weight(emit, *found);
  rows(emit, call);
}

constexpr std::string_view row_conditions =
    "i8 of the whole range, used only by linear and convolution (not depthwise) with quantized weights";
constexpr std::string_view weight_conditions =
    "weights of linear or convolution: i8 constants, zero points 0, f32 scales for each output channel";

constexpr OpRule rule(std::string_view op, std::string_view conditions, Check (*check)(const NodeQuery&),
                      void (*translate)(Emitter&, const OpCall&)) {
  return {.op = op,
          .conditions = conditions,
          .op_class = OpClass::Move,
          .takes_integers = true,
          .takes_numbers = true,
          .check = check,
          .translate = translate};
}

}  // namespace

std::span<const OpRule> quantize() {
  static constexpr OpRule rules[] = {
      rule(quantize_per_tensor, "f32 to the whole range of i8", check_quantize, quantize),
      rule("quantized_decomposed.dequantize_per_tensor.default", "i8 to f32", check_dequantize, dequantize),
      rule("quantized_decomposed.dequantize_per_channel.default", weight_conditions, check_weight,
           dequantize_weight),
      rule("quantized_decomposed.choose_qparams.tensor", row_conditions, check_rows, choose),
      rule("quantized_decomposed.quantize_per_tensor.tensor", row_conditions, check_rows, rows),
      rule("quantized_decomposed.dequantize_per_tensor.tensor", row_conditions, check_rows, rows),
      rule("quantized_decomposed.choose_qparams_per_token_asymmetric.default", row_conditions, check_rows,
           choose),
      rule("quantized_decomposed.quantize_per_token.default", row_conditions, check_rows, rows),
      rule("quantized_decomposed.dequantize_per_token.default", row_conditions, check_rows, rows),
      rule("torchao.choose_qparams_affine.default", row_conditions, check_rows, choose),
      rule("torchao.quantize_affine.default", row_conditions, check_rows, rows),
      rule("torchao.dequantize_affine.default",
           "i8 as above, or weights of linear: i8 constants, zero points 0, f32 scales for each "
           "row, or, of 4 bits, for blocks of a multiple of 32",
           check_blocks, dequantize_blocks),
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
