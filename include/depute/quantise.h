// Quantises a program of floats before it is lowered: the weights of linear layers and embeddings become
// integers with scales, in the ops that torchao writes, and with its numbers; or those of convolutions, or
// weights and activations do, in the ops of PT2E.
//
//   linear=8da4w:group=32      weights of 4 bits, a scale for each 32 of a row; rows of the input
//                              become 8 bits when the program runs
//   linear=8da8w               weights of 8 bits, a scale for each output
//   linear=8w                  the same weights, the input stays as it is
//   embedding=4w:group=32      tables of 4 or 8 bits
//   conv=8da8w                 convolutions with weights of 8 bits, a scale for each output; images
//                              become 8 bits when the program runs, in PT2E's ops
//   static                     layers and what lies between them as 8 bits, with scales that are measured on
//                              inputs of a calibration: what XNNPACK's quantiser does in PT2E
//
//   %y = aten.linear.default(%x, %w, %b)   ->   %y = aten.linear.default(%x', %w', %b)
//                                               %w' = torchao.dequantize_affine.default(%w.int4, ..)
//
// `only=` and `off=` choose layers as they choose nodes of a backend (pins.h): off=module:lm_head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/named_arrays.h"
#include "depute/pins.h"
#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

struct QuantiseRule {
  enum class Target : std::uint8_t { Linear, Embedding, Convolution, Static };
  Target target = Target::Linear;
  int weight_bits = 8;             // or 4
  bool has_dynamic_input = false;  // rows become i8 when the program runs
  std::int64_t group = 0;          // elements of a row that share a scale; 0: all
  Pins pins = {};
  std::string scheme = {};  // "8da4w"
  std::string text = {};    // as it was written
};

// Inputs to run a program on, for static quantisation: arrays by the names of its inputs, or arg0, arg1, ...
// An array holds one sample, or several along a first dimension of its own or the input's; "x/0", "x/1", ...
// are one sample each.
struct Calibration {
  std::string method = {};           // whose inputs they are; empty: of all that have none of their own
  std::string name = "calibration";  // what errors call it: the file
  NamedArrays arrays = {};
};

// Fails with code "usage" for what it cannot read.
Result<QuantiseRule> parse_quantise_rule(std::string_view text);
// All kinds with their schemes, without options: "linear=8da8w".
std::vector<std::string> quantise_rule_words();

struct QuantisedLayer {
  Symbol method;
  Symbol node;    // of the program as it was read
  Symbol weight;  // key of the constant
  std::string module;
  std::string scheme;
  std::uint64_t float_bytes = 0;
  std::uint64_t integer_bytes = 0;  // with the scales
  // Signal to quantisation noise of the weights, in decibels: 10 log10(sum w^2 / sum (w - w')^2).
  double sqnr = 0;
};

struct QuantiseResult {
  std::vector<QuantisedLayer> layers = {};  // in the order of the program
  // Layers that a rule chose and that stay as they are, and why: "%linear_3: rows of 100 in groups of 32".
  std::vector<std::string> left = {};
};

// Called while a method runs on the samples of a calibration: before the first one, and after each few.
using CalibrationProgress = std::function<void(std::size_t done, std::size_t samples)>;

// The first rule that chooses a layer applies. Weights are read once, `jobs` layers at a time, and their
// integers are made when they are written; f32 weights that nothing writes to are taken. Fails when a rule
// chooses none. Static rules need a calibration of each method that they choose layers of, and others take
// none; what methods write to their buffers goes on from one method to the next, in the program's order.
Result<QuantiseResult> quantise(Program& program, std::span<const QuantiseRule> rules, int jobs = 1,
                                std::span<const Calibration> calibrations = {},
                                const CalibrationProgress& progress = {});

}  // namespace depute

#pragma GCC visibility pop
