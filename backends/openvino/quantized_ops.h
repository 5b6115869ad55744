// Ops that quantize and dequantize, in a form that OpenVINO accepts.
//
// OpenVINO's own conversions turn quantize_* into a FakeQuantize, whose result stays a float, and drop
// dequantize_*. This is correct only for pairs. Integers that are constants, inputs or outputs need the
// arithmetic itself.
//
//   quantize -> dequantize                     FakeQuantize                       (OpenVINO's conversions)
//   constant of i8 -> dequantize               Convert, Subtract, Multiply        (depute.dequantize)
//   quantize -> another op                     Divide, Round, Add, Clamp, Convert (depute.quantize)
#pragma once

#include <openvino/frontend/extension.hpp>

#include <memory>
#include <string>
#include <vector>

#include "graph_decoder.h"

namespace depute::openvino {

inline constexpr const char* quantize_op = "depute.quantize";
inline constexpr const char* dequantize_op = "depute.dequantize";
// The attribute of quantize_op with the element type of its result.
inline constexpr const char* result_type_key = "depute_type";

// Returns the name under which the frontend finds the conversion of a node of the part.
std::string converted_op(const GraphPart& part, const Node& node);

// True for ops that are supported although OpenVINO's table does not have them.
bool is_quantized_op(Name op);

// The conversions of the two custom ops.
std::vector<std::shared_ptr<ov::Extension>> quantized_extensions();

}  // namespace depute::openvino
