// Which values of a method static quantisation makes integers of, and which of them have one scale.
//
//   %c = aten.conv2d.default(%x, %w, %b)       %x: read as integers by %c
//   %r = aten.relu.default(%c)                 %r: integers for all who read it; %c stays inside the two
//   %m = aten.max_pool2d.default(%r)           %m: integers, with the scale of %r
//
// The rules are those of XNNPACK's quantiser for PT2E with its symmetric configuration, scales of their own
// for each channel of a weight.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "depute/program.h"
#include "quantise/channel_weights.h"

namespace depute {

struct StaticPlan {
  struct Activation {
    Value* value;
    std::size_t group;  // values of one group have one scale
    bool is_for_all;    // every use reads integers; else only `readers`
    std::vector<Node*> readers = {};
  };
  std::vector<Activation> activations = {};  // in the order of the graph
  std::size_t groups = 0;
  std::vector<ChannelWeight> weights = {};
  std::vector<std::string> left = {};  // layers that stay as they are, and why: as in QuantiseResult
};

// `chooses` tells of a node whether a rule takes it. The program is functional. Numbers that are added or
// multiplied become constants.
StaticPlan plan_static(Program& program, Method& method, const std::function<bool(const Node&)>& chooses);

}  // namespace depute
