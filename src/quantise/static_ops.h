// What quantisation in PT2E's ops knows of ops: one table of those that take and give integers.
//
//   %y = aten.conv2d.default(%x, %w, %b)     a convolution: %x, %w and what comes out become integers
//   %z = aten.max_pool2d.default(%y)         passes on: gives integers with %y's scale where %y has one
//
// The rules are those of XNNPACK's quantiser for PT2E: what it leaves in floats stays so here.
#pragma once

#include <cstdint>

#include "depute/op.h"

namespace depute {

enum class StaticRole : std::uint8_t {
  None,
  Linear,
  Convolution,
  TransposedConvolution,
  Arithmetic,  // sums and products of two tensors
  Relu,        // becomes a part of the op before it
  Join,        // its inputs and its result have one scale
  Pool,        // its input and its result have one scale, whoever made the input
  PassesOn,    // the same where the input has a scale already
  BatchNorm,   // becomes a part of the weights before it
};

// None also for a node whose arguments do not fit its op.
StaticRole static_role(const Node& node);

inline bool is_convolution(StaticRole role) {
  return role == StaticRole::Convolution || role == StaticRole::TransposedConvolution;
}

inline bool has_weight(StaticRole role) {
  return role == StaticRole::Linear || is_convolution(role);
}

}  // namespace depute
