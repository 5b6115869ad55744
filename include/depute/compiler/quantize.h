// Quantizes a floating-point program before partitioning. Weights of linear layers and embeddings become
// integers with scales, in torchao's ops and with torchao's values. Convolutions, and static rules for
// weights and activations, use PT2E's ops.
//
//   linear=8da4w:group=32      4-bit weights, one scale per 32 elements of a row; rows of the input are
//                              quantized to 8 bits at run time
//   linear=8da8w               8-bit weights, one scale per output channel; input as above
//   linear=8w                  8-bit weights, one scale per output channel; the input stays in floats
//   embedding=4w:group=32      4-bit table, one scale per 32 elements of a row
//   embedding=8w               8-bit table, one scale per row
//   conv=8da8w                 8-bit weights, one scale per output channel; each image of the input is
//                              quantized to 8 bits at run time
//   linear=8da4w:group=row     4-bit weights, one scale per output channel
//   static                     8-bit weights and activations, with scales measured on calibration inputs,
//                              like XNNPACK's quantizer in PT2E
//   static:weights=tensor      the same, with one scale for each weight
//   static:ops=all             all ops that can be computed with integers, for processors without floats
//   static:activations=16      with ops=all: activations of 16 bits
//   auto:sqnr>=30              rules for each layer: the fewest bytes with at least this signal-to-noise
//                              ratio of the outputs, in decibels, on calibration inputs
//   auto:size<=12M             the least noise with at most so many bytes of weights, by the same forms of
//                              layers
//
//   %y = aten.linear.default(%x, %w, %b)   ->   %wd = torchao.dequantize_affine.default(%"w.int4", ..)
//                                               %y = aten.linear.default(%x, %wd, %b)
//
// `only=` and `off=` select layers in the same way as nodes of a backend (pins.h): off=module:lm_head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/backend/pins.h"
#include "depute/compiler/integer_io.h"
#include "depute/program/data.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// The goal of an auto rule.
struct QuantizeGoal {
  bool is_size = false;  // true: at most `bound` bytes; false: at least `bound` decibels
  double bound = 0;
};

struct QuantizeRule {
  enum class Target : std::uint8_t { Linear, Embedding, Convolution, Static, Auto };
  Target target = Target::Linear;
  int weight_bits = 8;             // 4 or 8
  bool has_dynamic_input = false;  // input rows are quantized to i8 at run time
  std::int64_t group = 0;          // elements of a row that share a scale; 0: the whole row
  bool has_one_scale = false;      // a static rule: one scale for a whole weight, not one for each channel
  bool has_all_ops = false;        // a static rule: not only layers and what lies between them
  int activation_bits = 8;         // of a static rule: 8 or 16
  bool is_optional = false;        // no error if the rule selects no layer
  Pins pins = {};
  std::string scheme = {};                // "8da4w"
  std::optional<QuantizeGoal> goal = {};  // of an auto rule
  std::string text = {};                  // as written by the user
};

// Sample inputs for static quantization: arrays by the names of the method's inputs, or arg0, arg1, ... An
// array holds one sample, or several along an additional first dimension or along the input's own first
// dimension. "x/0", "x/1", ... are one sample each.
struct Calibration {
  std::string method = {};           // empty: all methods without samples of their own
  std::string name = "calibration";  // name in errors, usually the file
  NamedArrays arrays = {};
};

// Parses a rule. Fails with the code "usage" for invalid text.
DEPUTE_API Result<QuantizeRule> parse_quantize_rule(std::string_view text);
// All kinds with their schemes, without options: "linear=8da8w".
DEPUTE_API std::vector<std::string> quantize_rule_words();

struct QuantizedLayer {
  Name method;
  Name node;    // name in the input program
  Name weight;  // key of the constant
  std::string module;
  std::string scheme;
  std::uint64_t float_bytes = 0;
  std::uint64_t integer_bytes = 0;  // includes the scales
  // Signal-to-quantization-noise ratio of the weights in decibels: 10 log10(sum w^2 / sum (w - w')^2).
  double sqnr = 0;
};

// A program between the smallest one and floats.
struct AutoPoint {
  std::uint64_t bytes = 0;   // of all constants
  double sqnr = 0;           // in decibels; infinite without noise
  bool is_measured = false;  // as a whole; otherwise it adds up the noise that each layer makes alone
};

// Rules that take the place of an auto rule, and what they give.
struct AutoRules {
  std::vector<std::string> texts = {};  // rules that give the same program
  double sqnr = 0;                      // of the noisiest output, in decibels; infinite without noise
  std::uint64_t bytes = 0;              // of all constants, with the integers of quantized layers
  std::uint64_t float_bytes = 0;        // of all constants before
  std::vector<AutoPoint> curve = {};    // by bytes
};

struct QuantizeResult {
  std::vector<QuantizedLayer> layers = {};  // in the order of the program
  // Selected layers that were not quantized, with the reason: "%linear_3: rows of 100 in groups of 32".
  std::vector<std::string> left = {};
  std::optional<AutoRules> chosen = {};
  std::vector<IntegerTensor> integer_io = {};  // inputs and outputs that Compiler::to_edge() made integers
  NameScope names = NameScope::current();      // keeps the names above
};

// Called while a method runs on calibration samples: before the first sample, and then every few samples.
using CalibrationProgress = std::function<void(std::size_t done, std::size_t samples)>;

// Quantizes `program`; the first rule that selects a layer applies. Weights are read once, `jobs` layers at a
// time; their integers are computed when they are written. Only f32 weights without mutation are quantized.
// Fails if a rule selects no layer.
// Static rules require a calibration for each method in which they select layers, and an auto rule, which stands alone,
// for each method; other rules accept none.
// During calibration, buffer contents carry over from one method to the next, in program order.
DEPUTE_API Result<QuantizeResult> quantize(Program& program, std::span<const QuantizeRule> rules,
                                           int jobs = 1, std::span<const Calibration> calibrations = {},
                                           const CalibrationProgress& progress = {});

}  // namespace depute
