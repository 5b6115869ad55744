// Makes inputs and outputs of a quantized program integers: drops the op that quantizes an input, and the op that
// dequantizes an output. The caller then passes and receives integers, and needs their scales and zero points,
// which become methods that return a constant, with the names and values of ExecuTorch's QuantizeInputs and
// QuantizeOutputs.
//
//   method forward(%x: f32[4]) {                               method forward(%x: i8[4]) {
//     %q: i8[4] = quantize_per_tensor(%x, 0.5, 3, ..)    ->      %r: i8[4] = f(%x)
//     %r: i8[4] = f(%q)                                          return %r
//     %y: f32[4] = dequantize_per_tensor(%r, 0.25, 0, ..)      }
//     return %y                                                method forward_input0_scale() { return 0.5 }
//   }                                                          ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/program/name.h"
#include "depute/program/program.h"
#include "depute/program/result.h"
#include "depute/program/type.h"

namespace depute {

// Selects inputs and outputs. Users write [METHOD:]WHICH: "all", "forward:inputs", "output0", "image".
struct IntegerIoRule {
  std::string method = {};  // empty: all methods
  // "all", "inputs" or "outputs": those that are floats. "input0", "output1": by position among the method's inputs
  // or outputs. Anything else is the name of an input.
  std::string which = "all";
};

// An input or output that was made integers: number = scale * (integer - zero_point).
struct IntegerTensor {
  Name method;
  bool is_input = true;
  std::size_t index = 0;  // position among the method's inputs or outputs
  Name value;             // name of the value that is now the input or output
  double scale = 0;
  std::int64_t zero_point = 0;
  std::int64_t quant_min = 0;
  std::int64_t quant_max = 0;
  ScalarType dtype = ScalarType::I8;
};

// Parses a rule. Fails with the code "usage" for invalid text.
DEPUTE_API Result<IntegerIoRule> parse_integer_io_rule(std::string_view text);
// The words that are not names: "all", "inputs", "outputs".
DEPUTE_API std::vector<std::string> integer_io_words();

// Changes the selected inputs and outputs of a normalized program, before partitioning. Fails if a rule selects
// nothing, or if an input is not quantized with one scale before all other use, or an output is not dequantized
// from integers; the error lists every such input and output.
DEPUTE_API Result<std::vector<IntegerTensor>> make_integer_io(Program& program,
                                                              std::span<const IntegerIoRule> rules);

// Returns the methods that tell how a tensor is quantized, for add_constants(): forward_input0_scale, .._zp,
// .._quant_min, .._quant_max and .._dtype, the last in ExecuTorch's numbering of element types. `prefix` stands
// before "input0": the method's name and '_'.
DEPUTE_API std::vector<ConstantMethod> config_methods(const IntegerTensor& tensor, const std::string& prefix);
DEPUTE_API std::vector<ConstantMethod> config_methods(std::span<const IntegerTensor> tensors);

}  // namespace depute
