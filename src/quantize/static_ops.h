// A table of the ops with integer inputs and results in PT2E quantization.
//
//   %y = aten.conv2d.default(%x, %w, %b)     a convolution: %x, %w and %y become integers
//   %z = aten.max_pool2d.default(%y)         shares scales: if %y is quantized, %z has its scale
//
// The rules are those of XNNPACK's quantizer for PT2E in ExecuTorch 1.5 (1.4 lets a slice and a dropout have scales of
// their own): ops that it leaves in floats stay in floats here. StaticOps::All is for processors without floats.
#pragma once

#include <cstdint>
#include <string_view>

#include "depute/program/op.h"

namespace depute {

enum class StaticOps : std::uint8_t {
  Layers,  // layers, sums, products, and what passes their integers on, as XNNPACK's quantizer has it
  All,     // all that can be computed with integers
};

enum class StaticRole : std::uint8_t {
  None,
  Linear,
  Convolution,
  TransposedConvolution,
  Arithmetic,  // sums and products of two tensors
  Relu,        // is fused into the op before it
  Join,        // inputs and result have one scale
  Pool,        // input and result have one scale, even if another op's result is the input
  PassesOn,    // input and result have one scale if the input is quantized
  BatchNorm,   // is folded into the weights before it
  // Roles that only StaticOps::All has:
  Function,  // reads integers; its results have scales of their own
  Choice,    // moves or chooses elements: all inputs and results have one scale
};

// Returns None also for a node whose arguments do not fit its op.
StaticRole static_role(const Node& node, StaticOps ops = StaticOps::Layers);

// True if numbers of an operand may be numbers of a result: of sums, products and choices.
bool passes_numbers_on(const Node& node);

// True for an op that has a role as it is exported, before it is decomposed.
bool is_static_op(std::string_view op);

inline bool is_convolution(StaticRole role) {
  return role == StaticRole::Convolution || role == StaticRole::TransposedConvolution;
}

inline bool has_weight(StaticRole role) {
  return role == StaticRole::Linear || is_convolution(role);
}

}  // namespace depute
