// Plans which values of a method static quantization makes integers, and which of them share a scale.
//
//   %c = aten.conv2d.default(%x, %w, %b)       %x: integers for %c; %c itself stays in floats
//   %r = aten.relu.default(%c)                 %r: integers for all its users
//   %m = aten.max_pool2d.default(%r)           %m: integers, with the scale of %r
//
// The rules are those of XNNPACK's PT2E quantizer with symmetric configuration and per-channel weights, or those of
// StaticOps::All.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "depute/program/program.h"
#include "quantize/channel_weights.h"
#include "quantize/static_ops.h"

namespace depute {

// Numbers of masks are not larger. XNNPACK's quantizer leaves ops with numbers beyond largest_number in floats.
inline constexpr float largest_mask = -9999;
inline constexpr double largest_number = 3.4028235e15;

struct StaticPlan {
  struct Activation {
    Value* value;
    std::size_t group;  // values of one group share a scale
    bool is_for_all;    // true: every use reads integers; false: only `readers` do
    bool has_masks;     // its numbers may come from a mask that the program writes
    std::vector<Node*> readers = {};
  };
  std::vector<Activation> activations = {};  // in graph order
  std::size_t groups = 0;
  std::vector<ChannelWeight> weights = {};
  std::vector<std::string> left = {};  // layers that are not quantized, with the reason, as in QuantizeResult
  StaticOps ops = StaticOps::Layers;
  int activation_bits = 8;
};

// `chooses` is true for nodes that a rule chooses. The program must be functional. Numbers in sums and
// products become constants.
StaticPlan plan_static(Program& program, Method& method, StaticOps ops,
                       const std::function<bool(const Node&)>& chooses);

}  // namespace depute
