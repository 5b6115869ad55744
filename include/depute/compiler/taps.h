// Taps: values inside a program that it also returns, whole or as a few numbers, whoever computes them.
//
//   --tap op:linear=min,max
//
//   method forward(%x) {                       method forward(%x) {
//     %h = aten.linear.default(%x, %w)           %h = aten.linear.default(%x, %w)
//     %y = aten.relu.default(%h)        ->       %low = aten.amin.default(%h)
//     return %y                                  %high = aten.amax.default(%h)
//   }                                            %tap = aten.stack.default([%low, %high])
//                                                %y = aten.relu.default(%h)
//                                                return %y, %tap
//                                              }
//
// The nodes that compute the numbers are in the module tap_module, which stays out of all delegates. So the
// numbers are those of the shipped program: a delegate that computes %h returns it, and is else unchanged.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/backend/pins.h"
#include "depute/program/name.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

inline constexpr std::string_view tap_module = "depute_taps";

// Selects nodes and what is returned of their results. Users write SELECTOR[=NUMBERS]: "op:linear=min,max",
// "module:layers.*=full", "all".
struct TapRule {
  std::optional<NodeSelector> nodes = {};  // nullopt: all
  // Empty: the whole tensor, "full". Otherwise names of tap_numbers().
  std::vector<std::string> numbers = {};
  std::string text = {};  // as written by the user
};

// An output that taps a value.
struct Tap {
  Name method;
  std::size_t output = 0;                 // index among the method's user outputs
  Name value;                             // that is tapped
  Name op;                                // that computes it, in the user's program
  Name module_path;                       // of the node: "layers.0.attention"
  std::string source = {};                // "model.py:12 (layers.0.attention)"; empty if unknown
  std::vector<std::string> numbers = {};  // elements of the output in order; empty: the whole tensor
};

// "tap of %linear_1: min, max", "tap of %linear_1"
DEPUTE_API std::string str(const Tap& tap);

// Numbers of a tensor that a tap can return, computed in f32: "min", "max", "mean", "abs_max", "abs_mean", "std" (of
// all elements, not of a sample), "rms", "l1_norm", "l2_norm", "nan_count", "inf_count", "zero_count", "p99_abs" (the
// value that one element in a hundred reaches). Without NUMBERS a tap has the first four; "stats" are all of them, in this
// order, as ExecuTorch's reducer STATS.
DEPUTE_API std::vector<std::string> tap_numbers();

// Parses a rule. Fails with the code "usage" for invalid text.
DEPUTE_API Result<TapRule> parse_tap_rule(std::string_view text);

// Adds an output for each result that a rule selects, behind the other outputs and in the order of the nodes;
// the first rule that selects a node applies. Of a result that is quantized and dequantized at once, the
// dequantized value is tapped, so that backends still see the pattern. Complex tensors, tensors without
// elements, ops that quantize or dequantize, and nodes in bodies of control flow are not selected. A call on a tensor of dynamic sizes that is
// empty then fails in the runtime, as it has no least element. Fails if a rule selects nothing.
DEPUTE_API Result<std::vector<Tap>> add_taps(Program& program, std::span<const TapRule> rules);

// Replaces ExecuTorch's taps, executorch_devtools.tap.Tensor(%x, "STATS") or "FULL_TENSOR", by the nodes that compute what
// they return. Fails for another reducer, which is a function of Python.
DEPUTE_API Status expand_taps(Program& program);

// True for a node that computes numbers of a tap.
DEPUTE_API bool is_of_tap(const Node& node);
// True if the program has such nodes.
DEPUTE_API bool has_taps(const Program& program);

}  // namespace depute
