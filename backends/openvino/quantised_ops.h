// Ops that quantise and dequantise, as OpenVINO takes them.
//
// Its own conversions make a FakeQuantize of quantize_*, whose result stays a float, and pass it through
// dequantize_*. That is right for a pair of them, and for nothing else: integers that are constants, that
// come in or that go out need the arithmetic itself.
//
//   quantize -> dequantize                     FakeQuantize                       (OpenVINO's conversions)
//   %w: i8 = constant -> dequantize            Convert, Subtract, Multiply        (depute.dequantize)
//   quantize -> what is no dequantize          Divide, Round, Add, Clamp, Convert (depute.quantize)
#pragma once

#include <openvino/frontend/extension.hpp>

#include <memory>
#include <string>
#include <vector>

#include "graph_decoder.h"

namespace depute::openvino {

inline constexpr const char* quantise_op = "depute.quantize";
inline constexpr const char* dequantise_op = "depute.dequantize";
// The attribute of quantise_op that tells the element type of its result.
inline constexpr const char* result_type_key = "depute_type";

// The name under which the frontend finds the conversion of a node of the part.
std::string converted_op(const GraphPart& part, const Node& node);

// Ops that are taken although OpenVINO's table does not have them.
bool is_quantised_op(Symbol op);

// The conversions of the two ops of ours.
std::vector<std::shared_ptr<ov::Extension>> quantised_extensions();

}  // namespace depute::openvino
